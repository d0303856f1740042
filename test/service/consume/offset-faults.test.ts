import t from 'tap'
import { judgeCommitted, listForeign } from '../../../src/service/consume/offset-faults.ts'

const OURS = { id: '00000000-0000-4000-8000-00000000000a', place: 'db:5432/ours' }
const THEIRS = { id: '00000000-0000-4000-8000-00000000000b', place: 'db:5432/theirs' }

t.test('an offset is judged by its database, then by the checkpoint', async (t) => {
  const judge = (next: bigint, database: typeof OURS | null) =>
    judgeCommitted({ next, database }, OURS.id, 4n)
  t.strictSame(
    [4n, 5n, 8n].map((next) => judge(next, OURS)),
    [null, null, { kind: 'lost', count: 3n }],
  )
  t.strictSame(
    [4n, 8n].map((next) => judge(next, null)),
    [null, null],
    'an earlier version or another program',
  )
  t.strictSame(judge(1n, THEIRS), { kind: 'foreign', database: THEIRS })
})

t.test('another database is listed once, with its partitions', async (t) => {
  const at = (partition: number, database: typeof OURS | null) => ({
    topic: 'claims',
    partition,
    next: 1n,
    database,
  })
  t.strictSame(listForeign([at(2, THEIRS), at(0, OURS), at(1, THEIRS), at(3, null)], OURS.id), [
    { ...THEIRS, partitions: ['claims/1', 'claims/2'] },
  ])
})
