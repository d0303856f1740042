import t from 'tap'
import { judgeMemory } from '../../../src/service/config/memory.ts'

t.test('a limit that large events exceed is named, and no limit is none', async (t) => {
  t.match(judgeMemory(767 * 1024 * 1024), /limited to 767 MiB.*Allow 768 MiB/)
  for (const enough of [0, 768 * 1024 * 1024, 2 ** 64 - 1]) t.equal(judgeMemory(enough), null)
})
