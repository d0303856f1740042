import t from 'tap'
import { onceASecond } from '../../src/app/once-a-second.ts'

t.test('one question serves all who ask within a second of its answer', async (t) => {
  let nowMs = 0
  let count = 0
  const asked = onceASecond(
    async () => ++count,
    () => nowMs,
  )
  t.same(await Promise.all([asked(), asked(), asked()]), [1, 1, 1])
  nowMs = 999
  t.equal(await asked(), 1)
  nowMs = 1_000
  t.same(await Promise.all([asked(), asked()]), [2, 2])
})

t.test('a question without an answer is not asked a second time', async (t) => {
  let nowMs = 0
  let count = 0
  const { promise, reject } = Promise.withResolvers<never>()
  const asked = onceASecond(
    () => {
      count++
      return promise
    },
    () => nowMs,
  )
  const first = asked()
  nowMs = 60_000
  const second = asked()
  reject(new Error('silence'))
  await t.rejects(first, /silence/)
  await t.rejects(second, /silence/)
  t.equal(count, 1)
  nowMs = 61_000
  await t.rejects(asked(), /silence/)
  t.equal(count, 2, 'a failure, too, is valid for a second only')
})
