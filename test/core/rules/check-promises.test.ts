import t from 'tap'
import { percentage } from '../../../src/core/rules/check-promises.ts'

t.test('coverage is never rounded up', async (t) => {
  t.equal(percentage(37, 37), '100 %')
  t.equal(percentage(9_996, 10_000), '99.9 %')
  t.equal(percentage(999_999_999, 1_000_000_000), '99.9 %')
  t.equal(percentage(36, 37), '97.2 %')
  t.equal(percentage(1, 2), '50 %')
  t.equal(percentage(0, 37), '0 %')
})
