import t from 'tap'
import { createSlots } from '../../src/kafka/consumer.ts'

/** Six requests for a slot, and a clock that the test advances. */
async function sixWaiting(countMax: number) {
  const sleepers: (() => void)[] = []
  const takeSlot = createSlots(countMax, () => new Promise<void>((resolve) => sleepers.push(resolve)))
  const given: (() => void)[] = []
  for (let i = 0; i < 6; i++) void takeSlot().then((giveBack) => given.push(giveBack))
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const strike = async () => {
    for (const wake of sleepers.splice(0)) wake()
    await settle()
  }
  await settle()
  return { given, settle, strike }
}

t.test('three batches start at once, and the next when one of them is done', async (t) => {
  const { given, settle } = await sixWaiting(8)
  t.equal(given.length, 3)
  given[1]?.()
  await settle()
  t.equal(given.length, 4)
})

t.test('long batches let others start, up to the limit of running ones', async (t) => {
  const { given, settle, strike } = await sixWaiting(5)
  await strike()
  t.equal(given.length, 5)
  await strike()
  t.equal(given.length, 5)
  given[0]?.()
  await settle()
  t.equal(given.length, 6)
})
