import t from 'tap'
import type { NextOffset } from '../../../src/service/consume/membership.ts'
import { createOffsetCommits } from '../../../src/service/consume/offset-commits.ts'

t.test('one request commits the last offset of each partition that moved', async (t) => {
  const requests: (readonly NextOffset[])[] = []
  const commits = createOffsetCommits(async (offsets) => void requests.push(offsets))
  commits.add({ topic: 'claims', partition: 0, offset: 5n })
  commits.add({ topic: 'billing', partition: 0, offset: 7n })
  commits.add({ topic: 'claims', partition: 0, offset: 9n })
  await commits.flush()
  t.strictSame(requests, [
    [
      { topic: 'claims', partition: 0, offset: 9n },
      { topic: 'billing', partition: 0, offset: 7n },
    ],
  ])
  await commits.flush()
  t.equal(requests.length, 1, 'nothing is committed twice')
  commits.add({ topic: 'claims', partition: 0, offset: 10n })
  commits.clear()
  await commits.flush()
  t.equal(requests.length, 1, 'cleared offsets are not committed')
})

t.test('a timer commits an offset within a second', async (t) => {
  const committed = Promise.withResolvers<readonly NextOffset[]>()
  const commits = createOffsetCommits(async (offsets) => committed.resolve(offsets))
  // The timer of the commits does not keep this process alive.
  const alive = setTimeout(() => committed.resolve([]), 10_000)
  commits.add({ topic: 'claims', partition: 0, offset: 5n })
  t.strictSame(await committed.promise, [{ topic: 'claims', partition: 0, offset: 5n }])
  clearTimeout(alive)
})
