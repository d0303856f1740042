import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import type { Kafka } from '../kafka.ts'
import { type Keeper, keep } from '../keep.ts'
import { answersGroups } from './answers.ts'

const START_TIMEOUT_MS = 180_000

/** A real Apache Kafka broker in KRaft mode, on the jars in `jarsDir`. */
export async function startApacheKafka(jarsDir: string, log: (line: string) => void): Promise<Kafka> {
  const port = await freePort()
  const brokers = `127.0.0.1:${port}`
  const keeper = await keep({
    name: 'kafka',
    stopSignal: 'SIGTERM',
    abandonSignal: 'SIGKILL',
    stopTimeoutMs: 20_000,
  })
  try {
    const properties = join(keeper.dir, 'server.properties')
    await writeFile(properties, propertiesText(keeper.dir, port, await freePort()))
    await format(keeper, jarsDir, properties)
    const command = java(jarsDir, ['-Xms256m', '-Xmx512m'], 'kafka.Kafka', [properties])
    const start = () => keeper.start(command, () => answersGroups(brokers), START_TIMEOUT_MS)
    await start()
    log(`kafka: ${brokers}, files in ${keeper.dir}`)
    return {
      kind: 'apache',
      brokers,
      start,
      stop: () => keeper.stop(),
      kill: () => keeper.kill(),
      close: () => keeper.close(),
      pid: () => keeper.pid,
      ended: () => keeper.ended(),
      logTail: () => keeper.logTail(),
    }
  } catch (error) {
    await keeper.close()
    throw error
  }
}

async function format(keeper: Keeper, jarsDir: string, properties: string): Promise<void> {
  // 22 characters of base64 are wanted; hexadecimal ones never begin with a dash, which would be taken for an option.
  const clusterId = randomBytes(11).toString('hex')
  // It ends within a second: compiling its code well would take longer than running it.
  await keeper.run(
    java(jarsDir, ['-XX:TieredStopAtLevel=1'], 'kafka.tools.StorageTool', [
      'format',
      '-t',
      clusterId,
      '-c',
      properties,
    ]),
  )
}

function java(jarsDir: string, flags: string[], mainClass: string, args: string[]) {
  return {
    file: 'java',
    args: [
      '-XX:+UseSerialGC',
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      '-Dorg.slf4j.simpleLogger.showDateTime=true',
      ...flags,
      '-cp',
      join(jarsDir, '*'),
      mainClass,
      ...args,
    ],
  }
}

/** What is not named here is Kafka's default, among it the largest message (1 MiB) and the codecs. */
function propertiesText(dir: string, port: number, controllerPort: number): string {
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': join(dir, 'data'),
    // A mistyped topic must fail, and a topic that does not exist yet must stay so.
    'auto.create.topics.enable': false,
    // One broker holds the only copy of everything; few internal partitions make for a fast start.
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 1,
    // A consumer's first assignment need not wait for others to come.
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 6_000,
    // A broker that was killed is let in again only after this time; the default is 9 s.
    'broker.session.timeout.ms': 4_000,
    'broker.heartbeat.interval.ms': 1_000,
    // The default, 128 MB, is a quarter of the heap.
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
  }
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}
