import t from 'tap'
import { createGroups } from '../../../src/service/attempt/groups.ts'
import type { BatchResult, GroupedBatch } from '../../../src/service/decide/attempt/batch.ts'
import { committedAt } from '../build.ts'

const MUCH = 1_000_000
const LITTLE = 50_000

const aBatch = (partition: number) => ({
  topic: 'claims',
  partition,
  messages: [],
  expectedCheckpoint: -1n,
  lastOffset: 0n,
  lastMessage: null,
})

/** Partitions with these waiting bytes, and a clock that the test advances. */
async function waitInGroups(batchCountMax: number, bytes: readonly number[]) {
  const timers = new Set<() => void>()
  const groups: GroupedBatch[][] = []
  const running: PromiseWithResolvers<BatchResult>[] = []
  const outcomes: string[] = []
  const processNext = createGroups(
    batchCountMax,
    (_durationMs, run) => {
      timers.add(run)
      return () => timers.delete(run)
    },
    (group) => {
      groups.push([...group])
      const results = group.map(() => Promise.withResolvers<BatchResult>())
      running.push(...results)
      return results.map(({ promise }) => promise)
    },
  )
  const settle = async () => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  let count = 0
  const ask = (some: readonly number[], take?: () => Promise<null>, isAlone = false) => {
    for (const one of some) {
      const batch = aBatch(count++)
      processNext({ bytes: one, isAlone, take: take ?? (async () => batch) }).then(
        (processed) => outcomes.push(processed === null ? 'nothing' : processed.result.kind),
        (error: Error) => outcomes.push(error.message),
      )
    }
  }
  ask(bytes)
  await settle()
  return {
    groups,
    running,
    outcomes,
    ask,
    settle,
    sizes: () => groups.map(({ length }) => length),
    commit: async (...indexes: number[]) => {
      for (const i of indexes) running[i]?.resolve({ ...committedAt(0n), wasSlow: false })
      await settle()
    },
    /** Runs all timers: the batches count as waiting. */
    strike: async () => {
      for (const run of timers) run()
      await settle()
    },
  }
}

const six = (bytes: number) => Array<number>(6).fill(bytes)

t.test('three large batches start at once, and the next when one of them is done', async (t) => {
  const { running, commit, outcomes } = await waitInGroups(8, six(MUCH))
  t.equal(running.length, 3)
  await commit(1)
  t.equal(running.length, 4)
  t.strictSame(outcomes, ['committed'])
})

t.test('long batches let others start, up to the limit of running ones', async (t) => {
  const { running, commit, strike } = await waitInGroups(5, six(MUCH))
  await strike()
  t.equal(running.length, 5)
  await strike()
  t.equal(running.length, 5)
  await commit(0)
  t.equal(running.length, 6)
})

t.test('partitions that wait at the same time form a group', async (t) => {
  const { sizes, ask, settle, commit } = await waitInGroups(8, [LITTLE, LITTLE, MUCH, LITTLE])
  t.strictSame(sizes(), [2, 1, 1])
  ask([LITTLE, LITTLE])
  await settle()
  t.strictSame(sizes(), [2, 1, 1], 'three groups are busy')
  await commit(0)
  t.strictSame(sizes(), [2, 1, 1], 'the first group is not done')
  await commit(1)
  t.strictSame(sizes(), [2, 1, 1, 2])
})

t.test('a group that was long ends its turn as a busy one once', async (t) => {
  const { running, ask, settle, strike, commit } = await waitInGroups(20, six(MUCH))
  await strike()
  t.equal(running.length, 6)
  await commit(0, 1, 2)
  ask(six(MUCH))
  await settle()
  t.equal(running.length, 6, 'the second three are busy')
})

t.test('a batch of a group that is not done lets the next one run', async (t) => {
  const { running, strike, commit } = await waitInGroups(2, [LITTLE, LITTLE, LITTLE])
  await strike()
  t.equal(running.length, 2)
  await commit(0)
  t.equal(running.length, 3)
})

t.test('a group has no more batches than may run', async (t) => {
  const { sizes } = await waitInGroups(2, [0, 0, 0])
  t.strictSame(sizes(), [2])
})

t.test('a partition without a batch by now, and one that fails, leave their place', async (t) => {
  const { running, ask, settle, outcomes } = await waitInGroups(3, [])
  ask(six(MUCH), async () => null)
  ask([MUCH], () => Promise.reject(new Error('damaged')))
  ask([MUCH])
  await settle()
  await settle()
  t.strictSame(outcomes, [...Array(6).fill('nothing'), 'damaged'])
  t.equal(running.length, 1)
})

t.test('a batch that fails says so to its partition alone', async (t) => {
  const { running, settle, commit, outcomes } = await waitInGroups(8, [LITTLE, LITTLE])
  running[0]?.reject(new Error('the database is gone'))
  await settle()
  await commit(1)
  t.strictSame(outcomes, ['the database is gone', 'committed'])
})
