import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { keep } from '../keep.ts'
import { answers } from '../topics.ts'
import type { Kafka } from './apache.ts'

const START_TIMEOUT_MS = 10_000
const REMEDY = 'Install a JDK (17 or later) with Maven, or kcat, or set MQ_BROKERS to a broker that runs.'

/**
 * librdkafka's mock broker inside kcat. It makes topics on first use (4 partitions), keeps all in memory and
 * knows neither transactions across restarts nor topic administration.
 * @throws where kcat is missing
 */
export async function startMockKafka(log: (line: string) => void): Promise<Kafka> {
  await promisify(execFile)('kcat', ['-V']).catch((cause) => {
    throw new Error(`kcat does not run either. ${REMEDY}`, { cause })
  })
  // It has no data, and handles no other signal while it waits for input.
  const keeper = await keep({ name: 'kafka-mock', stopSignal: 'SIGKILL', abandonSignal: 'SIGKILL' })
  try {
    let brokers = ''
    // A producer that waits for its standard input, which the keeper holds open, keeps the mock cluster up.
    const command = {
      file: 'kcat',
      args: ['-X', 'test.mock.num.brokers=1', '-b', 'mock', '-P', '-t', 'unused'],
    }
    const isReady = async () => {
      brokers = /replaced with (\S+)/.exec(await keeper.logTail())?.[1] ?? ''
      return brokers !== '' && (await answers(brokers))
    }
    await keeper.start(command, isReady, START_TIMEOUT_MS)
    log(`kafka: mock broker at ${brokers}`)
    const start = () =>
      Promise.reject(new Error('the mock broker cannot be started again: its port and data are gone'))
    return { ...keeper, start, kind: 'mock', brokers, dataDir: '' }
  } catch (error) {
    await keeper.close()
    throw error
  }
}
