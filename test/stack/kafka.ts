import { type SecureListener, startApacheKafka } from './kafka/apache.ts'
import { kafkaJars } from './kafka/jars.ts'
import { assertJava } from './kafka/java.ts'
import { startMockKafka } from './kafka/mock.ts'

export interface Kafka {
  /** `mock` where no real broker could be had: tests that need one skip, with that reason. */
  kind: 'apache' | 'mock'
  /** Bootstrap servers, as MQ_BROKERS takes them. */
  brokers: string
  /** Starts it again on the same port with the same data, after `stop` or `kill`; the mock cannot. */
  start(): Promise<void>
  /** Orderly shutdown. The data stays. */
  stop(): Promise<void>
  /** SIGKILL. The data stays. */
  kill(): Promise<void>
  /** Stops it and removes its data. */
  close(): Promise<void>
  /** Of the broker; undefined while it is stopped. */
  pid(): number | undefined
  /** Resolves, to how it ended, when the process that runs now has. */
  ended(): Promise<string>
  /** The end of what it has written to its log. */
  logTail(): Promise<string>
}

/**
 * Starts a Kafka broker on loopback: Apache Kafka, or librdkafka's mock where Java or the jars cannot be had.
 * @throws when neither can be had, naming the remedy
 */
export async function startKafka({
  log = console.error,
  secure,
}: {
  log?: (line: string) => void
  /** The mock has none. */
  secure?: SecureListener
} = {}): Promise<Kafka> {
  let jarsDir: string
  try {
    await assertJava()
    jarsDir = await kafkaJars(log)
  } catch (error) {
    log(`kafka: no real broker, falling back to the mock of librdkafka: ${(error as Error).message}`)
    return startMockKafka(log)
  }
  return startApacheKafka(jarsDir, log, secure)
}
