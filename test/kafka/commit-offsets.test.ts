import type { TopicPartitionOffset } from 'kafkajs'
import { pino } from 'pino'
import t from 'tap'
import { createOffsetReports } from '../../src/kafka/commit-offsets.ts'

const silent = pino({ level: 'silent' })

t.test('all partitions that moved are told of in one request, each with its last offset', async (t) => {
  const requests: TopicPartitionOffset[][] = []
  const reports = createOffsetReports(async (offsets) => void requests.push(offsets), silent)
  reports.report('claims', 0, 5n)
  reports.report('billing', 0, 7n)
  reports.report('claims', 0, 9n)
  await reports.flush()
  t.strictSame(requests, [
    [
      { topic: 'claims', partition: 0, offset: '9' },
      { topic: 'billing', partition: 0, offset: '7' },
    ],
  ])
  await reports.flush()
  t.equal(requests.length, 1, 'nothing is told twice')
  reports.report('claims', 0, 10n)
  reports.clear()
  await reports.flush()
  t.equal(requests.length, 1, 'what is forgotten is not told')
})

t.test('what moves is told of within a second, whoever waits for it', async (t) => {
  const told = Promise.withResolvers<TopicPartitionOffset[]>()
  const reports = createOffsetReports(async (offsets) => told.resolve(offsets), silent)
  // The timer of the reports alone would not keep this process.
  const alive = setTimeout(() => told.resolve([]), 10_000)
  reports.report('claims', 0, 5n)
  t.strictSame(await told.promise, [{ topic: 'claims', partition: 0, offset: '5' }])
  clearTimeout(alive)
})

t.test('a request that fails holds up nothing', async (t) => {
  const requests: string[][] = []
  const reports = createOffsetReports(async (offsets) => {
    requests.push(offsets.map(({ offset }) => offset))
    if (requests.length === 1) throw new Error('rebalancing')
  }, silent)
  reports.report('claims', 0, 5n)
  await reports.flush()
  reports.report('claims', 0, 6n)
  await reports.flush()
  t.strictSame(requests, [['5'], ['6']])
})
