import t from 'tap'
import type { PartitionEnds } from '../../../src/service/consume/brokers.ts'
import { createWarnOfHistory } from '../../../src/service/consume/warn-of-history.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import { until } from '../../stack/until.ts'

t.test('messages that are published while the service starts are not from before the start', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) })
  const published: Record<string, bigint> = { claims: 3n, billing: 0n }
  const brokers = {
    readEnds: async (topics: readonly string[]) =>
      new Map(
        topics.map((topic): [string, PartitionEnds] => [
          `${topic}/0`,
          { topic, partition: 0, earliest: 0n, end: published[topic] ?? 0n },
        ]),
      ),
    fetch: async () => ({ error: null, bytes: Buffer.alloc(0), aborted: [] }),
  }
  const topics = ['claims', 'billing']
  const warnOfHistory = createWarnOfHistory(brokers, topics, log)
  published.claims = 4n
  published.billing = 5n
  for (const topic of topics) warnOfHistory({ topic, partition: 0 })
  await until(async () => lines.length > 0, { what: 'a warning' })
  t.match(lines, [{ partitions: ['claims/0: 3'], msg: /^no checkpoint: up to 3 messages/ }])
})
