import t, { type Test as Tap } from 'tap'
import type { PartitionEnds } from '../../../src/service/consume/brokers.ts'
import { createWarnOfHistory } from '../../../src/service/consume/warn-of-history.ts'
import type { TopicPartition } from '../../../src/service/decide/event/position.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import { until } from '../../stack/until.ts'

/** The warnings of a start on topics that have so many messages, and a second later these, of which so many are old. */
async function warningsOf(
  t: Tap,
  before: Readonly<Record<string, bigint>> | null,
  after: Readonly<Record<string, bigint>>,
  old: Readonly<Record<string, bigint>>,
) {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) })
  let published = before
  let failsNext = before === null
  const startedMs = 1_000_000
  const brokers = {
    unservedReason: () => null,
    readEnds: async (topics: readonly string[]) => {
      if (published === null) throw new Error('no broker yet')
      const ends = published
      return new Map(
        topics.map((topic): [string, PartitionEnds] => [
          `${topic}/0`,
          { topic, partition: 0, earliest: 0n, end: ends[topic] ?? 0n },
        ]),
      )
    },
    firstSince: async (partitions: readonly TopicPartition[], sinceMs: number) => {
      t.equal(sinceMs, startedMs - 60_000)
      if (failsNext) {
        failsNext = false
        throw new Error('the leader has changed')
      }
      return new Map(
        partitions.flatMap(({ topic }): [string, bigint][] => {
          const first = old[topic] ?? 0n
          return first === after[topic] ? [] : [[`${topic}/0`, first]]
        }),
      )
    },
    fetch: async () => ({ error: null, bytes: Buffer.alloc(0), aborted: [] }),
  }
  const topics = ['claims', 'billing']
  const warnOfHistory = createWarnOfHistory(brokers, topics, startedMs, log)
  published = after
  for (const topic of topics) warnOfHistory({ topic, partition: 0 })
  await until(async () => lines.length > 0, { what: 'a warning' })
  return lines
}

t.test('messages that are published while the service starts are not from before the start', async (t) => {
  t.match(await warningsOf(t, { claims: 3n }, { claims: 4n, billing: 5n }, {}), [
    { partitions: ['claims/0: 3'], msg: /^no checkpoint: up to 3 messages/ },
  ])
})

t.test(
  'messages of an earlier time are from before the start, whenever they are published and read',
  async (t) => {
    for (const before of [{ claims: 3n }, null])
      t.match(await warningsOf(t, before, { claims: 9n, billing: 5n }, { claims: 7n, billing: 5n }), [
        { partitions: ['claims/0: 7', 'billing/0: 5'], msg: /^no checkpoint: up to 12 messages/ },
      ])
  },
)
