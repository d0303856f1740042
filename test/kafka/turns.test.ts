import t from 'tap'
import { createTurns } from '../../src/kafka/turns.ts'

/** Batches that are under way until they are ended, and a clock that strikes when told to. */
function someBatches(countMax: number) {
  const slept: (() => void)[] = []
  const inTurn = createTurns(countMax, () => new Promise<void>((resolve) => slept.push(resolve)))
  const begun: number[] = []
  const ends: PromiseWithResolvers<number>[] = []
  const results = Array.from({ length: 6 }, (_, i) => {
    const end = Promise.withResolvers<number>()
    ends.push(end)
    return inTurn(() => {
      begun.push(i)
      return end.promise
    })
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const strike = () => {
    for (const wake of slept.splice(0)) wake()
  }
  return { begun, ends, results, settle, strike }
}

t.test('three batches begin at once, and the next when one of them ends', async (t) => {
  const { begun, ends, results, settle } = someBatches(8)
  await settle()
  t.strictSame(begun, [0, 1, 2])
  ends[1]?.resolve(11)
  t.equal(await results[1], 11)
  await settle()
  t.strictSame(begun, [0, 1, 2, 3])
})

t.test('a batch that takes long lets others begin, up to as many as may be under way', async (t) => {
  const { begun, settle, strike } = someBatches(5)
  await settle()
  strike()
  await settle()
  t.strictSame(begun, [0, 1, 2, 3, 4])
  strike()
  await settle()
  t.strictSame(begun, [0, 1, 2, 3, 4])
})

t.test('a batch that fails says so to whoever asked, and gives way', async (t) => {
  const { begun, ends, results, settle } = someBatches(8)
  await settle()
  ends[0]?.reject(new Error('connection terminated'))
  await t.rejects(results[0] as Promise<number>, { message: 'connection terminated' })
  await settle()
  t.strictSame(begun, [0, 1, 2, 3])
})
