import t from 'tap'
import {
  createOffsetCommits,
  decodeDatabase,
  encodeDatabase,
  type NextOffset,
} from '../../../src/service/consume/group-offsets.ts'

t.test('one request commits the last offset of each partition that moved', async (t) => {
  const requests: (readonly NextOffset[])[] = []
  const commits = createOffsetCommits(async (offsets) => void requests.push(offsets))
  commits.add({ topic: 'claims', partition: 0, next: 5n })
  commits.add({ topic: 'billing', partition: 0, next: 7n })
  commits.add({ topic: 'claims', partition: 0, next: 9n })
  await commits.flush()
  t.strictSame(requests, [
    [
      { topic: 'claims', partition: 0, next: 9n },
      { topic: 'billing', partition: 0, next: 7n },
    ],
  ])
  await commits.flush()
  t.equal(requests.length, 1, 'nothing is committed twice')
})

t.test('a timer commits an offset within a second', async (t) => {
  const committed = Promise.withResolvers<readonly NextOffset[]>()
  const commits = createOffsetCommits(async (offsets) => committed.resolve(offsets))
  // The timer of the commits does not keep this process alive.
  const alive = setTimeout(() => committed.resolve([]), 10_000)
  commits.add({ topic: 'claims', partition: 0, next: 5n })
  t.strictSame(await committed.promise, [{ topic: 'claims', partition: 0, next: 5n }])
  clearTimeout(alive)
})

const OURS = { id: '00000000-0000-4000-8000-00000000000a', place: 'db:5432/ours' }

t.test('the text beside an offset names the database; any other text names none', async (t) => {
  t.strictSame(decodeDatabase(encodeDatabase(OURS)), OURS)
  t.strictSame(
    decodeDatabase(`database=${OURS.id} version=9 at=a b`),
    { ...OURS, place: 'a b' },
    'of a later version',
  )
  t.strictSame(decodeDatabase(`database=${OURS.id}`), { ...OURS, place: '' })
  for (const other of [null, '', 'NO_METADATA', 'database=x']) t.equal(decodeDatabase(other), null)
  t.ok(encodeDatabase({ ...OURS, place: 'x'.repeat(9_999) }).length < 4_096, 'as much as a broker keeps')
})
