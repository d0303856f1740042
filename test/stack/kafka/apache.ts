import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { keep, type LocalServer } from '../keep.ts'
import { answersGroups } from '../topics.ts'

const BROKER = 'kafka.Kafka'
const START_TIMEOUT_MS = 180_000
/** A client with a token must log in again within this time, or is disconnected. kafkajs does so 10 s before. */
export const SESSION_MS = 11_000

/** The mock cannot be started again. */
export interface Kafka extends LocalServer {
  /** `mock` if no real broker could be had: tests that need one skip, with that reason. */
  kind: 'apache' | 'mock'
  /** Bootstrap servers, as MQ_BROKERS takes them. */
  brokers: string
  /** The segments of each partition are in a directory `<topic>-<partition>`; empty for the mock. */
  dataDir: string
}

/**
 * A second listener, on localhost with TLS, for a user who logs in by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, and for clients with an
 * access token. They have all
 * rights to resources without an ACL. Clients without TLS have all rights.
 */
export interface SecureListener {
  readonly port: number
  /** PEM texts. */
  readonly cert: string
  readonly key: string
  readonly username: string
  readonly password: string
  /** Whose access tokens are good for a log-in by OAUTHBEARER, too. */
  readonly tokens: { readonly keySetUrl: string; readonly issuer: string; readonly audience: string }
}

/** One more listener of a broker, for clients that reach it by a proxy: the broker advertises the port of the proxy. */
export interface Route {
  readonly port: number
  readonly advertisedPort: number
}

/** One of the brokers of a cluster, each of which is a controller, too. */
interface Node {
  readonly id: number
  readonly port: number
  readonly controllerPort: number
  readonly routes: readonly Route[]
}

/**
 * Real brokers of one cluster, by id from 1 on. Topics of Kafka itself have a replica on each.
 * @param routes those of each broker
 */
export async function startKafkaCluster(
  jarsDir: string,
  log: (line: string) => void,
  brokerCount: number,
  routes: readonly (readonly Route[])[] = [],
): Promise<readonly Kafka[]> {
  const nodes: Node[] = []
  for (let id = 1; id <= brokerCount; id++) {
    const ports = { port: await freePort(), controllerPort: await freePort() }
    nodes.push({ id, ...ports, routes: routes[id - 1] ?? [] })
  }
  const clusterId = createClusterId()
  const starting = nodes.map((node) => startNode(jarsDir, log, node, nodes, clusterId))
  const started = await Promise.allSettled(starting)
  const failed = started.find((one) => one.status === 'rejected')
  const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  if (failed === undefined) return running
  await Promise.all(running.map((broker) => broker.close()))
  throw failed.reason
}

/** A real Apache Kafka broker in KRaft mode, on the jars in `jarsDir`. */
export async function startApacheKafka(
  jarsDir: string,
  log: (line: string) => void,
  secure?: SecureListener,
): Promise<Kafka> {
  const node = { id: 1, port: await freePort(), controllerPort: await freePort(), routes: [] }
  return startNode(jarsDir, log, node, [node], createClusterId(), secure)
}

async function startNode(
  jarsDir: string,
  log: (line: string) => void,
  node: Node,
  nodes: readonly Node[],
  clusterId: string,
  secure?: SecureListener,
): Promise<Kafka> {
  const brokers = `127.0.0.1:${node.port}`
  const keeper = await keep({
    name: 'kafka',
    stopSignal: 'SIGTERM',
    abandonSignal: 'SIGKILL',
    stopTimeoutMs: 20_000,
  })
  try {
    const properties = join(keeper.dir, 'server.properties')
    const plain = plainProperties(keeper.dir, node, nodes)
    const more = secure ? await secureProperties(keeper.dir, plain, secure) : {}
    await writeFile(properties, textOf({ ...plain, ...more }))
    const user = secure ? scramUser(secure) : []
    const args = ['format', '-t', clusterId, '-c', properties, ...user]
    await keeper.run(java(jarsDir, [], 'kafka.tools.StorageTool', args))
    // Kafka fetches key sets from nowhere else.
    const allowed = secure
      ? [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${secure.tokens.keySetUrl}`]
      : []
    const heapMax = nodes.length > 1 ? '256m' : '512m'
    const command = java(jarsDir, ['-Xms256m', `-Xmx${heapMax}`, ...allowed], BROKER, [properties])
    const start = () => keeper.start(command, () => answersGroups(brokers), START_TIMEOUT_MS)
    await start()
    log(`kafka: ${brokers}, files in ${keeper.dir}`)
    return { ...keeper, start, kind: 'apache', brokers, dataDir: dataDirIn(keeper.dir) }
  } catch (error) {
    await keeper.close()
    throw error
  }
}

/** 22 characters of base64 are wanted; hexadecimal ones never begin with a dash, which would be taken for an option. */
function createClusterId(): string {
  return randomBytes(11).toString('hex')
}

function java(jarsDir: string, flags: string[], mainClass: string, args: string[]) {
  const logging = ['defaultLogLevel=warn', 'showDateTime=true'].map(
    (set) => `-Dorg.slf4j.simpleLogger.${set}`,
  )
  const classPath = ['-cp', join(jarsDir, '*')]
  // A local broker lives for seconds or minutes: optimising its code costs more than it gains.
  const light = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  const all = [...light, ...classArchive(jarsDir, mainClass), ...logging, ...flags]
  return { file: 'java', args: [...all, ...classPath, mainClass, ...args] }
}

/** The first broker that stops archives the classes that it loaded. With them the next ones start in half the time. */
function classArchive(jarsDir: string, mainClass: string): string[] {
  const archive = `${jarsDir}.jsa`
  if (existsSync(archive)) return [`-XX:SharedArchiveFile=${archive}`]
  return mainClass === BROKER ? [`-XX:ArchiveClassesAtExit=${archive}`] : []
}

function dataDirIn(dir: string): string {
  return join(dir, 'data')
}

/** All other settings are Kafka's defaults, such as the largest message (1 MiB) and the codecs. */
function plainProperties(dir: string, { id, port, controllerPort, routes }: Node, nodes: readonly Node[]) {
  const replicas = nodes.length
  const open = [{ port, advertisedPort: port }, ...routes].map((route, i) => ({
    ...route,
    name: i === 0 ? 'PLAINTEXT' : `ROUTE${i}`,
  }))
  return {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': nodes.map((one) => `${one.id}@127.0.0.1:${one.controllerPort}`).join(),
    listeners: [
      ...open.map((route) => `${route.name}://127.0.0.1:${route.port}`),
      `CONTROLLER://127.0.0.1:${controllerPort}`,
    ].join(),
    'advertised.listeners': open
      .map(({ name, advertisedPort }) => `${name}://127.0.0.1:${advertisedPort}`)
      .join(),
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': [...open.map(({ name }) => name), 'CONTROLLER']
      .map((name) => `${name}:PLAINTEXT`)
      .join(),
    'log.dirs': dataDirIn(dir),
    // A mistyped topic must fail, and a topic that does not exist yet must stay so.
    'auto.create.topics.enable': false,
    // Few internal partitions make for a fast start.
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': replicas,
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
    // The cleaner's pause if nothing needs compaction; the default is 15 s.
    'log.cleaner.backoff.ms': 1_000,
    // Messages of tests may be dated 1970. Retention would delete them as soon as it looks, half a minute after the start.
    'log.retention.ms': -1,
  }
}

async function secureProperties(
  dir: string,
  plain: ReturnType<typeof plainProperties>,
  secure: SecureListener,
) {
  const keyStore = join(dir, 'keystore.pem')
  await writeFile(keyStore, `${secure.key}${secure.cert}`)
  const login = 'org.apache.kafka.common.security'
  const scram = `${login}.scram.ScramLoginModule required;`
  return {
    listeners: `${plain.listeners},SECURE://127.0.0.1:${secure.port}`,
    'advertised.listeners': `${plain['advertised.listeners']},SECURE://localhost:${secure.port}`,
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': `${plain['listener.security.protocol.map']},SECURE:SASL_SSL`,
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    'listener.name.secure.plain.sasl.jaas.config': `${login}.plain.PlainLoginModule required user_${secure.username}="${secure.password}";`,
    'listener.name.secure.scram-sha-256.sasl.jaas.config': scram,
    'listener.name.secure.scram-sha-512.sasl.jaas.config': scram,
    'listener.name.secure.oauthbearer.sasl.jaas.config': `${login}.oauthbearer.OAuthBearerLoginModule required;`,
    'listener.name.secure.oauthbearer.sasl.server.callback.handler.class': `${login}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
    // The default of 4.1.0 checks neither signature, issuer nor audience (DefaultJwtValidator without a key resolver).
    'sasl.oauthbearer.jwt.validator.class': `${login}.oauthbearer.BrokerJwtValidator`,
    'listener.name.secure.oauthbearer.connections.max.reauth.ms': SESSION_MS,
    'listener.name.secure.oauthbearer.sasl.oauthbearer.jwks.endpoint.url': secure.tokens.keySetUrl,
    'listener.name.secure.oauthbearer.sasl.oauthbearer.expected.issuer': secure.tokens.issuer,
    'listener.name.secure.oauthbearer.sasl.oauthbearer.expected.audience': secure.tokens.audience,
    'listener.name.secure.ssl.keystore.type': 'PEM',
    'listener.name.secure.ssl.keystore.location': keyStore,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
    'allow.everyone.if.no.acl.found': true,
  }
}

function scramUser({ username, password }: SecureListener): string[] {
  return ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
    '--add-scram',
    `${mechanism}=[name=${username},password=${password}]`,
  ])
}

function textOf(properties: Readonly<Record<string, unknown>>): string {
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}
