import t from 'tap'
import { type BacklogSources, createBacklog } from '../../../src/service/app/watch-backlog.ts'

const NOW_MS = Date.UTC(2026, 0, 31, 12)

/** One partition, claims/0, whose messages have these ages, oldest first; its first offset is `earliest`. */
function partition(
  given: { agesS?: number[]; earliest?: number; checkpoint?: number } & Partial<BacklogSources>,
) {
  const { agesS = [], earliest = 0, checkpoint, ...overrides } = given
  const end = earliest + agesS.length
  const backlog = createBacklog({
    assignment: () => ({ claims: [0] }),
    oldestMs: () => null,
    ends: async () =>
      new Map([
        ['claims/0', { topic: 'claims', partition: 0, earliest: BigInt(earliest), end: BigInt(end) }],
      ]),
    ownedByGroup: async () => new Set(),
    checkpoints: async () =>
      checkpoint === undefined ? [] : [{ topic: 'claims', partition: 0, offset: BigInt(checkpoint) }],
    failedRows: async () => ({ waiting: 2, givenUp: 1, expired: 0 }),
    wallMs: () => NOW_MS,
    monotonicMs: () => NOW_MS,
    ...overrides,
  })
  return { backlog, lag: async () => (await backlog()).partitions[0] }
}

t.test('the lag is the number of messages beyond the checkpoint', async (t) => {
  const agesS = [50, 40, 30, 20, 10]
  t.match(await partition({ agesS }).lag(), { topic: 'claims', partition: 0, messageCount: 5 })
  t.match(await partition({ agesS, checkpoint: -1 }).lag(), { messageCount: 5 })
  t.match(await partition({ agesS, checkpoint: 1 }).lag(), { messageCount: 3 })
  t.match(await partition({ agesS, checkpoint: 4 }).lag(), { messageCount: 0, oldestAgeS: 0 })
  const removed = { agesS, earliest: 100, checkpoint: 7 }
  t.match(await partition(removed).lag(), { messageCount: 5 }, 'what retention removed does not count')
  t.match(await partition({ agesS, checkpoint: 900 }).lag(), { messageCount: 5 }, 'of a recreated topic')
})

t.test('what waits by topic counts the partitions of other members, too', async (t) => {
  const ends = new Map(
    [0, 1].map((partition) => [`claims/${partition}`, { topic: 'claims', partition, earliest: 0n, end: 5n }]),
  )
  const ownedByGroup = async () => new Set(['claims/1'])
  const { backlog } = partition({ checkpoint: 1, ends: async () => ends, ownedByGroup })
  const { partitions, waitingByPartition, waitingByTopic } = await backlog()
  t.match(partitions, [{ partition: 0, messageCount: 3 }])
  t.equal(partitions.length, 1)
  t.strictSame(Object.fromEntries(waitingByPartition), { 'claims/0': 3, 'claims/1': 5 })
  t.strictSame([...waitingByTopic], [['claims', 8]])
})

t.test('while the database does not answer, its last known checkpoints are used', async (t) => {
  let down = false
  const { backlog } = partition({
    agesS: [3, 2, 1],
    checkpoints: async () => {
      if (down) throw new Error('down')
      return [{ topic: 'claims', partition: 0, offset: 0n }]
    },
    failedRows: async () => {
      if (down) throw new Error('down')
      return { waiting: 2, givenUp: 1, expired: 0 }
    },
  })
  t.match(await backlog(), { databaseReachable: true, partitions: [{ messageCount: 2 }] })
  down = true
  t.match(await backlog(), { databaseReachable: false, partitions: [{ messageCount: 2 }] })
})

t.test('a broker that refuses is reported, without a lag', async (t) => {
  const { backlog } = partition({ agesS: [1], ends: () => Promise.reject(new Error('down')) })
  t.match(await backlog(), {
    brokerReachable: false,
    databaseReachable: true,
    partitions: [],
    assignedCount: 1,
  })
})

t.test('without an answer about the group, a process in no group reports every partition', async (t) => {
  const ownedByGroup = () => Promise.reject(new Error('GROUP_AUTHORIZATION_FAILED'))
  const { backlog } = partition({ agesS: [2, 1], assignment: () => null, ownedByGroup })
  t.match(await backlog(), { brokerReachable: true, partitions: [{ messageCount: 2 }] })
})

t.test('a missing answer is not waited for, and not requested twice', async (t) => {
  let asked = 0
  const { backlog } = partition({
    ends: () => {
      asked++
      return new Promise(() => {})
    },
  })
  t.match(await Promise.all([backlog(), backlog()]), [{ brokerReachable: false }, { brokerReachable: false }])
  t.equal(asked, 1)
})

t.test('the age is that of the oldest fetched and unprocessed message', async (t) => {
  const oldestMs = () => NOW_MS - 90_500
  t.match(await partition({ agesS: [99, 90.5, 3], checkpoint: 0, oldestMs }).lag(), { oldestAgeS: 90.5 })
  t.match(await partition({ agesS: [99, 90.5, 3], checkpoint: 2, oldestMs }).lag(), { oldestAgeS: 0 })
})

t.test('while no message is fetched, the age is the time since the checkpoint moved', async (t) => {
  let [nowMs, checkpoint] = [NOW_MS, 0n]
  const { lag } = partition({
    agesS: [99, 90, 3],
    checkpoints: async () => [{ topic: 'claims', partition: 0, offset: checkpoint }],
    // It was set back meanwhile.
    wallMs: () => NOW_MS,
    monotonicMs: () => nowMs,
  })
  t.match(await lag(), { messageCount: 2, oldestAgeS: 0 })
  nowMs += 30_000
  t.match(await lag(), { messageCount: 2, oldestAgeS: 30 })
  checkpoint = 1n
  t.match(await lag(), { messageCount: 1, oldestAgeS: 0 })
})

t.test('the first message after a quiet time is no older than the look that finds it', async (t) => {
  let [nowMs, end] = [NOW_MS, 1n]
  const { lag } = partition({
    checkpoint: 0,
    ends: async () => new Map([['claims/0', { topic: 'claims', partition: 0, earliest: 0n, end }]]),
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
  })
  t.match(await lag(), { messageCount: 0, oldestAgeS: 0 })
  nowMs += 7_200_000
  end = 2n
  t.match(await lag(), { messageCount: 1, oldestAgeS: 0 })
})

t.test('unowned partitions are reported by every process, in the group or not', async (t) => {
  const ends = async () =>
    new Map(
      [0, 1, 2].map((partition) => [
        `claims/${partition}`,
        { topic: 'claims', partition, earliest: 0n, end: 0n },
      ]),
    )
  const ownedByGroup = async () => new Set(['claims/0', 'claims/1'])
  const told = async (assignment: ReturnType<BacklogSources['assignment']>) => {
    const { partitions, assignedCount } = await partition({
      assignment: () => assignment,
      ends,
      ownedByGroup,
    }).backlog()
    return [assignedCount, partitions.map((found) => found.partition)]
  }
  t.strictSame(await told({ claims: [0] }), [1, [0, 2]])
  t.strictSame(await told(null), [null, [2]])
})

t.test('a count of failed rows that takes long makes no database unreachable', async (t) => {
  const { backlog } = partition({ agesS: [2, 1], failedRows: () => new Promise(() => {}) })
  t.match(await backlog(), { databaseReachable: true, failedRows: null, partitions: [{ messageCount: 2 }] })
})

t.test('failed rows are counted once a minute', async (t) => {
  let nowMs = NOW_MS
  let asked = 0
  const { backlog } = partition({
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    failedRows: async () => ({ waiting: ++asked, givenUp: 0, expired: 0 }),
  })
  await backlog()
  nowMs += 59_999
  t.match(await backlog(), { failedRows: { waiting: 1 } })
  nowMs += 1
  t.match(await backlog(), { failedRows: { waiting: 2 } })
})
