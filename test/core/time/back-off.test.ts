import t from 'tap'
import { backOffMs } from '../../../src/core/time/back-off.ts'

t.test('the pause doubles with each failure, up to a limit', async (t) => {
  t.same([0, 1, 2, 3, 4, 5, 10_000].map(backOffMs), [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
})
