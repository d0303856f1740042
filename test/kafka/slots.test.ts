import t from 'tap'
import { createSlots } from '../../src/kafka/slots.ts'

const MUCH = 1_000_000
const LITTLE = 50_000

/** Requests for a slot by partitions with these bytes, and a clock that the test advances. */
async function requestSlots(countMax: number, bytes: readonly number[]) {
  const timers = new Set<() => void>()
  const takeSlot = createSlots(countMax, (_durationMs, run) => {
    timers.add(run)
    return () => timers.delete(run)
  })
  const given: (() => void)[] = []
  const ask = (some: readonly number[]) => {
    for (const one of some) void takeSlot(one).then((giveBack) => given.push(giveBack))
  }
  const settle = async () => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  ask(bytes)
  await settle()
  return {
    given,
    ask,
    settle,
    /** Runs all timers: the batches count as waiting. */
    strike: async () => {
      for (const run of timers) run()
      await settle()
    },
  }
}

const six = (bytes: number) => Array<number>(6).fill(bytes)

t.test('three large batches start at once, and the next when one of them is done', async (t) => {
  const { given, settle } = await requestSlots(8, six(MUCH))
  t.equal(given.length, 3)
  given[1]?.()
  await settle()
  t.equal(given.length, 4)
})

t.test('long batches let others start, up to the limit of running ones', async (t) => {
  const { given, settle, strike } = await requestSlots(5, six(MUCH))
  await strike()
  t.equal(given.length, 5)
  await strike()
  t.equal(given.length, 5)
  given[0]?.()
  await settle()
  t.equal(given.length, 6)
})

t.test('partitions with little to do share a slot', async (t) => {
  const { given, ask, settle } = await requestSlots(8, [LITTLE, LITTLE, MUCH, LITTLE])
  t.equal(given.length, 4)
  ask([LITTLE, LITTLE])
  await settle()
  t.equal(given.length, 4, 'three groups are busy')
  given[0]?.()
  await settle()
  t.equal(given.length, 4, 'the first group is not done')
  given[1]?.()
  await settle()
  t.equal(given.length, 6)
})

t.test('a group that was long frees its slot once', async (t) => {
  const { given, ask, settle, strike } = await requestSlots(20, six(MUCH))
  await strike()
  t.equal(given.length, 6)
  for (const giveBack of given.slice(0, 3)) giveBack()
  await settle()
  ask(six(MUCH))
  await settle()
  t.equal(given.length, 6, 'the second three are busy')
})

t.test('a batch of a group that is not done lets the next one run', async (t) => {
  const { given, settle, strike } = await requestSlots(2, [LITTLE, LITTLE, LITTLE])
  await strike()
  t.equal(given.length, 2)
  given[0]?.()
  await settle()
  t.equal(given.length, 3)
})

t.test('a group has no more batches than may run', async (t) => {
  const { given } = await requestSlots(2, [0, 0, 0])
  t.equal(given.length, 2)
})
