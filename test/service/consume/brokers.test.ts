import { createServer, type Socket } from 'node:net'
import type Broker from 'kafkajs/src/broker/index.js'
import { pino } from 'pino'
import t from 'tap'
import { createBrokers, createFetch, readPartitionEnds } from '../../../src/service/consume/brokers.ts'
import type { Cluster } from '../../../src/service/consume/cluster.ts'
import { READ_COMMITTED } from '../../../src/service/consume/fetch-request.ts'
import { withTimeout } from '../../../src/service/time/with-timeout.ts'
import { listen } from '../../stack/listen.ts'
import { until } from '../../stack/until.ts'

t.test('a request that hangs fails, and the next one does not wait for its connection', async (t) => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => sockets.push(socket))
  const address = `127.0.0.1:${await listen(silent)}`
  const log = pino({ level: 'silent' })
  const brokers = createBrokers({ brokers: [address], ssl: null, sasl: null }, 'test', log, 300)
  t.teardown(async () => {
    silent.close()
    for (const socket of sockets) socket.destroy()
    await brokers.close()
  })
  const [first, sharing] = [brokers.describe(), brokers.describe()]
  const hung = { message: 'no response from the brokers within 0.3 s' }
  await Promise.all([t.rejects(first, hung), t.rejects(sharing, hung)])
  // A process that stands still for a moment gives up before it sees who connects.
  await until(() => sockets.length > 0, { what: 'the connection' })
  t.equal(sockets.length, 1)
  await t.rejects(brokers.describe(), hung)
  await until(() => sockets.length > 1, { what: 'the next connection' })
  t.equal(sockets.length, 2)
})

t.test('a broker that does not answer does not keep another one from being asked', async (t) => {
  const silent = createServer()
  const address = `127.0.0.1:${await listen(silent)}`
  const real = process.env.MQ_BROKERS ?? ''
  const log = pino({ level: 'silent' })
  const brokers = createBrokers({ brokers: [address, real], ssl: null, sasl: null }, 'test', log, 60_000)
  t.teardown(async () => {
    silent.close()
    await brokers.close()
  })
  const described = await withTimeout(10_000, brokers.describe(), () => 'too late')
  t.match(described, { brokerCount: 1 })
})

t.test('a fetch waits for the one before it of the same broker, and of no other', async (t) => {
  const asked: number[] = []
  const first = Promise.withResolvers<never>()
  const answer = { topic: 'claims', partition: 0, error: null, bytes: Buffer.alloc(0), aborted: [] }
  const fetchBytes = createFetch({
    topics: async () => new Map(),
    refresh: async () => {},
    leaderOf: ({ partition }) => partition,
    ask: async (nodeId) => {
      asked.push(nodeId)
      return (asked.length === 1 ? first.promise : [answer]) as never
    },
  })
  const fetchOf = (partition: number) =>
    fetchBytes({ topic: 'claims', partition, from: 0n, bytesMax: 1 }, READ_COMMITTED)
  const frozen = t.rejects(fetchOf(1), { message: 'frozen' })
  const behind = fetchOf(1)
  t.match(await fetchOf(2), { error: null })
  t.strictSame(asked, [1, 2])
  first.reject(new Error('frozen'))
  await frozen
  t.match(await behind, { error: null })
  t.strictSame(asked, [1, 2, 1])
})

t.test('the ends of a partition are asked of its leader alone', { timeout: 60_000 }, async (t) => {
  const leaders = new Map([
    [0, 0],
    [1, 1],
  ])
  let agreed = Promise.resolve()
  const broker = {
    listOffsets: async ({ topics: [topic] }: { topics: { partitions: { timestamp: string }[] }[] }) => ({
      responses: [
        {
          topic: 'claims',
          partitions: [{ partition: 0, offset: topic?.partitions[0]?.timestamp === '-2' ? '3' : '7' }],
        },
      ],
    }),
  } as unknown as Broker
  const cluster = {
    topics: async () => new Map([['claims', { error: null, leaders }]]),
    leaderOf: ({ partition }: { partition: number }) => leaders.get(partition),
    requireAgreedLeader: () => agreed,
    ask: (node: number, request: (broker: Broker) => unknown) =>
      node === 1 ? new Promise(() => {}) : request(broker),
  } as unknown as Cluster
  const readEnds = (partition: number) => readPartitionEnds(cluster, { topic: 'claims', partition })
  t.match(await readEnds(0), { earliest: 3n, end: 7n })
  await t.rejects(readEnds(2), /no broker leads claims\/2/)
  agreed = Promise.reject(new Error('not agreed'))
  await t.rejects(readEnds(0), { message: 'not agreed' }, 'a former leader may still have an earlier topic')
})
