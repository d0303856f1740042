import t from 'tap'
import {
  decodeDatabase,
  encodeDatabase,
  judgeCommitted,
  listForeign,
} from '../../../src/service/consume/committed-offsets.ts'

const OURS = { id: '00000000-0000-4000-8000-00000000000a', place: 'db:5432/ours' }
const THEIRS = { id: '00000000-0000-4000-8000-00000000000b', place: 'db:5432/theirs' }

t.test('the text beside an offset names the database; any other text names none', async (t) => {
  t.same(decodeDatabase(encodeDatabase(OURS)), OURS)
  t.same(
    decodeDatabase(`database=${OURS.id} version=9 at=a b`),
    { ...OURS, place: 'a b' },
    'of a later version',
  )
  t.same(decodeDatabase(`database=${OURS.id}`), { ...OURS, place: '' })
  for (const other of [null, '', 'NO_METADATA', 'database=x']) t.equal(decodeDatabase(other), null)
  t.ok(encodeDatabase({ ...OURS, place: 'x'.repeat(9_999) }).length < 4_096, 'as much as a broker keeps')
})

t.test('an offset is judged by its database, then by the checkpoint', async (t) => {
  const judge = (next: bigint, database: typeof OURS | null) =>
    judgeCommitted({ next, database }, OURS.id, 4n)
  t.same(
    [4n, 5n, 8n].map((next) => judge(next, OURS)),
    [null, null, { kind: 'lost', count: 3n }],
  )
  t.same(
    [4n, 8n].map((next) => judge(next, null)),
    [null, null],
    'an earlier version or another program',
  )
  t.same(judge(1n, THEIRS), { kind: 'foreign', database: THEIRS })
})

t.test('another database is listed once, with its partitions', async (t) => {
  const at = (partition: number, database: typeof OURS | null) => ({
    topic: 'claims',
    partition,
    next: 1n,
    database,
  })
  t.same(listForeign([at(2, THEIRS), at(0, OURS), at(1, THEIRS), at(3, null)], OURS.id), [
    { ...THEIRS, partitions: ['claims/1', 'claims/2'] },
  ])
})
