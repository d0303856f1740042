import { createServer, type Socket } from 'node:net'
import Encoder from 'kafkajs/src/protocol/encoder.js'
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Cluster } from '../../../src/service/consume/cluster.ts'
import { listen } from '../../stack/listen.ts'

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
}

/** A cluster of brokers with ids from 0 on, that has asked the first one. */
async function startBrokers(t: Test, count: number) {
  const sockets: Socket[] = []
  const brokers: Broker[] = []
  for (let id = 0; id < count; id++) {
    const server = createServer((socket) => {
      sockets.push(socket)
      socket.on('data', (request) => socket.write(answer(request, id)))
    })
    brokers.push({ port: await listen(server), leader: 0, billingError: 0 })
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
    const answer = new Encoder().writeInt32(brokers.length)
    for (const [nodeId, { port }] of brokers.entries())
      answer.writeInt32(nodeId).writeString('127.0.0.1').writeInt32(port).writeInt16(-1)
    answer.writeInt32(0).writeInt32(2)
    const { leader = 0, billingError = 0 } = brokers[id] ?? {}
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

t.test('a leader counts as sure if all brokers name it; if not, another one is asked', async (t) => {
  const { brokers, cluster } = await startBrokers(t, 3)
  await cluster.requireSureLeader(CLAIMS, 0)
  for (const other of brokers.slice(1)) other.leader = 1
  await t.rejects(cluster.requireSureLeader(CLAIMS, 0), /do not agree on who leads claims\/0/)
  t.equal(cluster.leaderOf(CLAIMS), 1)
})

t.test('an unknown error of one topic keeps no other from its leaders', async (t) => {
  const { brokers, cluster } = await startBrokers(t, 1)
  Object.assign(brokers[0] ?? {}, { leader: 1, billingError: KAFKA_STORAGE_ERROR })
  await cluster.refresh()
  t.equal(cluster.leaderOf(CLAIMS), 1)
  t.match((await cluster.topics(['billing'])).get('billing'), { error: 'KAFKA_STORAGE_ERROR' })
})
