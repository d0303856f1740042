import { mock } from 'node:test'
import type Broker from 'kafkajs/src/broker/index.js'
import { pino } from 'pino'
import t from 'tap'
import { Fetcher } from '../../../src/service/consume/fetcher.ts'
import { createBudget } from '../../../src/service/consume/inbox.ts'
import type { TopicPartition } from '../../../src/service/decide/event/position.ts'
import { committedAt } from '../build.ts'
import { assign } from './assign.ts'
import { settled } from './one-partition.ts'
import { writeBatch } from './records/write-batch.ts'
import { type WrittenPartition, writeFetchResponse } from './write-fetch-response.ts'

const VERSION = 11
const BUDGET_BYTES = 1024 * 1024

/** Partitions of claims, a cluster that answers when the test says so, and a fetcher between them. */
async function fetching(
  partitionCount: number,
  leaders: Record<number, number>,
  isStarting: (partition: TopicPartition) => boolean = () => false,
) {
  const cluster = { refreshCount: 0, refreshes: 0, isRefreshed: true, isRefusing: false }
  /** The two clocks differ: the wall clock may be set. */
  const clock = { nowMs: 0, aheadMs: 0 }
  const asked: { broker: number; partitions: number[]; waitMs: number; answer: Answer }[] = []
  const sleeps: number[] = []
  const values: string[] = []
  const lines: { msg: string }[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })

  /** One request: the test answers it, with a batch or an error for each partition. */
  function brokerAt(nodeId: number): Broker {
    const lookupRequest = (_key: number, _definition: object) => (request: KafkaRequest) => ({
      request: { apiVersion: VERSION, ...request },
    })
    const send = async ({ request, response }: Sent) => {
      const partitions = request.topics.flatMap((topic) => topic.partitions.map(({ partition }) => partition))
      const answered = Promise.withResolvers<readonly WrittenPartition[]>()
      const answer: Answer = (written) => {
        answered.resolve(partitions.map((partition) => written[partition] ?? {}))
        return settled()
      }
      asked.push({ broker: nodeId, partitions: partitions.toSorted(), waitMs: request.maxWaitTime, answer })
      const written = await answered.promise
      const decoded = await response.decode(writeFetchResponse(VERSION, written))
      const { responses } = decoded as { responses: { partition: number }[] }
      // The writer numbers them from 0.
      for (const [i, one] of responses.entries()) one.partition = partitions[i] ?? -1
      return response.parse(decoded)
    }
    return { lookupRequest, connectionPool: { send } } as unknown as Broker
  }

  const fetcher: Fetcher = new Fetcher({
    cluster: {
      ask: async (nodeId, request) => {
        if (cluster.isRefusing) throw new Error('ECONNREFUSED')
        return request(brokerAt(nodeId))
      },
      leaderOf: ({ partition }) => leaders[partition],
      refresh: async () => {
        cluster.refreshes++
        if (cluster.isRefreshed) cluster.refreshCount++
      },
      get refreshCount() {
        return cluster.refreshCount
      },
    },
    wallMs: () => clock.nowMs + clock.aheadMs,
    monotonicMs: () => clock.nowMs,
    sleep: async (durationMs) => {
      sleeps.push(durationMs)
      await new Promise((resolve) => setImmediate(resolve))
    },
    log,
  })
  const { partitions, budget } = assign(
    {
      ensureCheckpoint: async (topic, partition) => {
        if (isStarting({ topic, partition })) await new Promise(() => {})
        return { offset: -1n, lastMessage: null }
      },
      processNext: async ({ take }) => {
        const batch = await take()
        if (batch === null) return null
        for (const { value } of batch.messages) values.push(String(value))
        return { batch, result: { ...committedAt(batch.lastOffset), wasSlow: false } }
      },
      fetchable: fetcher.fetchable,
      budget: createBudget(BUDGET_BYTES, fetcher.fetchable),
      sleep: () => new Promise(() => {}),
      log,
    },
    fetcher,
  )
  partitions.assign({ claims: Array.from({ length: partitionCount }, (_, i) => i) }, [])
  void fetcher.run()
  await settled()
  return {
    asked,
    last: () => asked.at(-1),
    sleeps,
    values,
    lines,
    cluster,
    clock,
    fetcher,
    budget,
    stop: () => {
      partitions.end()
      fetcher.stop()
    },
  }
}

type Answer = (byPartition: Record<number, WrittenPartition>) => Promise<void>

interface KafkaRequest {
  readonly maxWaitTime: number
  readonly topics: readonly { readonly partitions: readonly { readonly partition: number }[] }[]
}

interface Sent {
  readonly request: KafkaRequest
  readonly response: { decode(bytes: Buffer): Promise<unknown>; parse(decoded: unknown): Promise<unknown> }
}

const message = (offset: number, value: string) => ({
  bytes: writeBatch({ baseOffset: offset, records: [{ value }] }),
})

t.test('a lone event is handed over at once, and those that follow it gather at the broker', async (t) => {
  const { last, sleeps, values, asked, stop } = await fetching(1, { 0: 1 })
  await last()?.answer({ 0: message(0, 'a') })
  t.strictSame([values, sleeps.length, asked.length], [['a'], 1, 2])
  await last()?.answer({})
  t.strictSame(
    [sleeps.length, asked.length],
    [1, 3],
    'an answer without messages is followed by the next request',
  )
  stop()
})

t.test('a backlog is fetched without a pause', async (t) => {
  const { last, sleeps, values, stop } = await fetching(1, { 0: 1 })
  await last()?.answer({ 0: message(0, 'a'.repeat(20_000)) })
  t.strictSame([values.length, sleeps], [1, []])
  stop()
})

t.test('a broker that does not answer holds up its own partitions only, and is reported', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { asked, values, lines, cluster, clock, fetcher, stop } = await fetching(2, { 0: 1, 1: 2 })
  t.strictSame(asked.map(({ broker, partitions }) => [broker, partitions]).sort(), [
    [1, [0]],
    [2, [1]],
  ])
  await asked.find(({ broker }) => broker === 2)?.answer({ 1: message(0, 'b') })
  t.strictSame(values, ['b'])
  t.equal(fetcher.silence({ topic: 'claims', partition: 0 }), null)
  Object.assign(clock, { nowMs: 2_000, aheadMs: 3_600_000 })
  mock.timers.tick(2_000)
  t.equal(fetcher.silence({ topic: 'claims', partition: 0 }), null, 'only the wall clock was set')
  t.ok(cluster.refreshes > 0, 'another broker may lead its partitions by now')
  t.strictSame(lines, [])
  Object.assign(clock, { nowMs: 10_000, aheadMs: 0 })
  mock.timers.tick(2_000)
  t.match(fetcher.silence({ topic: 'claims', partition: 0 }), { reason: 'no-answer', sinceMs: 0 })
  t.match(lines, [{ broker: 1, msg: /does not answer/ }])
  await asked.find(({ broker }) => broker === 1)?.answer({ 0: message(0, 'a') })
  t.strictSame(values, ['b', 'a'])
  t.equal(fetcher.silence({ topic: 'claims', partition: 0 }), null)
  t.match(lines.at(-1), { msg: 'the broker answers again' })
  stop()
})

t.test(
  'a broker that refuses each connection is reported too, as long as something is wanted of it',
  async (t) => {
    const { last, lines, cluster, clock, fetcher, budget, stop } = await fetching(1, { 0: 1 })
    const silence = () => fetcher.silence({ topic: 'claims', partition: 0 })
    cluster.isRefusing = true
    await last()?.answer({})
    clock.nowMs = 10_000
    await settled()
    t.match(silence(), { reason: 'no-answer' })
    t.match(lines, [{ broker: 1, msg: /does not answer/ }])
    budget.add(4 * BUDGET_BYTES)
    await settled()
    t.equal(silence(), null, 'the database is the reason why the partition waits')
    cluster.isRefusing = false
    budget.add(-4 * BUDGET_BYTES)
    await settled()
    await last()?.answer({})
    t.equal(lines.length, 2)
    t.match(lines[1], { msg: 'the broker answers again' })
    stop()
  },
)

t.test(
  'after a change of leader the partition is fetched from the new one, and not from the old one',
  async (t) => {
    const leaders: Record<number, number> = { 0: 1, 1: 1 }
    const { asked, last, values, cluster, fetcher, stop } = await fetching(2, leaders)
    cluster.isRefreshed = false
    await last()?.answer({ 0: { error: 6 }, 1: message(0, 'b') })
    t.strictSame(values, ['b'])
    t.strictSame(last()?.partitions, [1], 'until the new leader is known')
    cluster.isRefreshed = true
    cluster.refreshCount++
    leaders[0] = 2
    fetcher.fetchable.notify()
    await settled()
    const moved = asked.find(({ broker }) => broker === 2)
    t.strictSame(moved?.partitions, [0])
    await moved?.answer({ 0: message(0, 'a') })
    t.strictSame(values, ['b', 'a'])
    stop()
  },
)

t.test('while a partition is about to be fetched, a broker answers for the others soon', async (t) => {
  const { asked, last, stop } = await fetching(2, { 0: 1, 1: 1 }, ({ partition }) => partition === 1)
  t.match(last(), { partitions: [0], waitMs: 50 })
  t.equal(asked.length, 1)
  stop()
  const all = await fetching(2, { 0: 1, 1: 1 })
  await all.last()?.answer({})
  t.match(all.last(), { partitions: [0, 1], waitMs: 500 })
  all.stop()
})

t.test(
  'while a partition waits for its backoff, a broker does not answer for the others sooner',
  async (t) => {
    const { last, stop } = await fetching(2, { 0: 1, 1: 1 }, ({ partition }) => {
      if (partition === 1) throw new Error('the database is down')
      return false
    })
    await last()?.answer({})
    t.match(last(), { partitions: [0], waitMs: 500 })
    stop()
  },
)
