import { createServer, type Socket } from 'node:net'
import { mock } from 'node:test'
import Encoder from 'kafkajs/src/protocol/encoder.js'
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Cluster } from '../../../src/service/consume/cluster.ts'
import { listen } from '../../stack/listen.ts'
import { until } from '../../stack/until.ts'

const CLAIMS = { topic: 'claims', partition: 0 }
const API_VERSIONS = 18
const KAFKA_STORAGE_ERROR = 56

/** Answers for its metadata alone. */
interface Broker {
  readonly port: number
  /** The broker that leads the partition of `claims`, as this one believes. */
  leader: number
  /** Kafka's code of the error of `billing`. */
  billingError: number
  /** The ids of the brokers that it knows; all by default. */
  listed: readonly number[] | null
  /** It answers nothing any more. */
  isSilent: boolean
  connectionCount: number
}

/** A cluster of brokers with ids from 0 on, that has asked the first one. */
async function startBrokers(t: Test, count: number) {
  const sockets: Socket[] = []
  const brokers: Broker[] = []
  for (let id = 0; id < count; id++) {
    const server = createServer((socket) => {
      sockets.push(socket)
      const broker = brokers[id]
      if (broker === undefined) return
      broker.connectionCount++
      socket.on('close', () => broker.connectionCount--)
      socket.on('data', (request) => {
        if (!broker.isSilent) socket.write(answer(request, id))
      })
    })
    const port = await listen(server)
    brokers.push({ port, leader: 0, billingError: 0, listed: null, isSilent: false, connectionCount: 0 })
    t.teardown(() => server.close())
  }

  function answer(request: Buffer, id: number): Buffer {
    const [apiKey, correlationId] = [request.readInt16BE(4), request.readInt32BE(8)]
    const body = apiKey === API_VERSIONS ? writeVersions(request.readInt16BE(6)) : writeMetadata(id)
    return new Encoder()
      .writeInt32(4 + body.size())
      .writeInt32(correlationId)
      .writeEncoder(body).buffer
  }

  function writeMetadata(id: number): Encoder {
    const { leader = 0, billingError = 0, listed = null } = brokers[id] ?? {}
    const known = listed ?? [...brokers.keys()]
    const answer = new Encoder().writeInt32(known.length)
    for (const nodeId of known)
      answer
        .writeInt32(nodeId)
        .writeString('127.0.0.1')
        .writeInt32(brokers[nodeId]?.port ?? 0)
        .writeInt16(-1)
    answer.writeInt32(0).writeInt32(2)
    answer.writeInt16(0).writeString('claims').writeBoolean(false).writeInt32(1)
    answer.writeInt16(0).writeInt32(0).writeInt32(leader).writeInt32(0).writeInt32(0)
    return answer.writeInt16(billingError).writeString('billing').writeBoolean(false).writeInt32(0)
  }

  const connection = {
    brokers: brokers.map(({ port }) => `127.0.0.1:${port}`),
    ssl: null,
    sasl: null,
  }
  const cluster = new Cluster(connection, 'test', pino({ level: 'silent' }))
  t.teardown(() => {
    cluster.close()
    for (const socket of sockets) socket.destroy()
  })
  await cluster.topics(['claims', 'billing'])
  return { brokers, cluster }
}

function writeVersions(version: number): Encoder {
  const answer = new Encoder().writeInt16(0).writeInt32(1)
  answer.writeInt16(apiKeys.Metadata).writeInt16(0).writeInt16(1)
  return version === 0 ? answer : answer.writeInt32(0)
}

t.test('a broker that is cut off from the others is not the only one that is asked', async (t) => {
  const { brokers, cluster } = await startBrokers(t, 3)
  for (const other of brokers.slice(1)) other.leader = 1
  await cluster.refresh()
  t.equal(cluster.leaderOf(CLAIMS), 1)
  await cluster.refresh()
  await cluster.refresh()
  t.equal(cluster.leaderOf(CLAIMS), 0, 'each in turn: none is known to be right')
})

t.test('a broker that has left the cluster is not asked, though MQ_BROKERS names it', async (t) => {
  const { brokers, cluster } = await startBrokers(t, 3)
  for (const other of brokers.slice(0, 2)) other.listed = [0, 1]
  Object.assign(brokers[2] ?? {}, { leader: 2, listed: [2] })
  await cluster.refresh()
  const named: (number | undefined)[] = []
  for (let i = 0; i < 9; i++) {
    await cluster.refresh()
    named.push(cluster.leaderOf(CLAIMS))
  }
  t.strictSame(new Set(named), new Set([0]))
})

t.test('a leader is agreed on if most brokers name it; if not, another one is asked', async (t) => {
  const { brokers, cluster } = await startBrokers(t, 3)
  await cluster.requireAgreedLeader(CLAIMS, 0)
  const [, second, third] = brokers
  Object.assign(second ?? {}, { leader: 1 })
  await cluster.requireAgreedLeader(CLAIMS, 0)
  Object.assign(third ?? {}, { leader: 1 })
  await t.rejects(cluster.requireAgreedLeader(CLAIMS, 0), /most brokers do not name broker 0 .* claims\/0/)
  t.equal(cluster.leaderOf(CLAIMS), 1)
})

t.test('a request apart has a connection of its own, to any broker that the metadata named', async (t) => {
  const { brokers, cluster } = await startBrokers(t, 2)
  const connections = (count: number) =>
    until(() => brokers[1]?.connectionCount === count, { what: `${count} connections` })
  const { promise: slow, resolve } = Promise.withResolvers<string>()
  await cluster.ask(1, async () => {})
  const apart = cluster.askApart(1, () => slow, 60_000)
  await connections(2)
  await cluster.ask(1, async () => {})
  resolve('joined')
  t.equal(await apart, 'joined')
  await connections(1)
})

t.test('an answer may take as long as its caller allows, whatever the clock says', async (t) => {
  mock.timers.enable({ apis: ['setInterval', 'setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const { brokers, cluster } = await startBrokers(t, 1)
  Object.assign(brokers[0] ?? {}, { isSilent: true })
  const protocol = requests.requests.Metadata
  let rejected: unknown = null
  const asked = cluster
    .ask(
      0,
      (broker) =>
        broker.connectionPool.send(broker.lookupRequest(apiKeys.Metadata, protocol)({ topics: [] })),
      60_000,
    )
    .catch((error) => {
      rejected = error
    })
  await new Promise((resolve) => setImmediate(resolve))
  mock.timers.tick(59_000)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(rejected, null)
  mock.timers.tick(1_000)
  await asked
  t.match(rejected, { code: 'ETIMEDOUT' })
})

t.test('a connection that is not made in time fails, however long its request may take', async (t) => {
  mock.timers.enable({ apis: ['setInterval', 'setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const { brokers, cluster } = await startBrokers(t, 2)
  Object.assign(brokers[1] ?? {}, { isSilent: true })
  const joined = t.rejects(
    cluster.askApart(1, async () => {}, 60_000),
    { code: 'ETIMEDOUT' },
  )
  await until(() => brokers[1]?.connectionCount === 1, { what: 'the connection' })
  mock.timers.tick(10_000)
  await joined
})

t.test('an unknown error of one topic keeps no other from its leaders', async (t) => {
  const { brokers, cluster } = await startBrokers(t, 1)
  Object.assign(brokers[0] ?? {}, { leader: 1, billingError: KAFKA_STORAGE_ERROR })
  await cluster.refresh()
  t.equal(cluster.leaderOf(CLAIMS), 1)
  t.match((await cluster.topics(['billing'])).get('billing'), { error: 'KAFKA_STORAGE_ERROR' })
})
