import { type Kafka, type SecureListener, startApacheKafka } from './kafka/apache.ts'
import { assertJava, kafkaJars } from './kafka/jars.ts'
import { startMockKafka } from './kafka/mock.ts'

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
