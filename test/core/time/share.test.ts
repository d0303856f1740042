import t from 'tap'
import { share } from '../../../src/core/time/share.ts'

function shared() {
  const reads: PromiseWithResolvers<string>[] = []
  const clock = { nowMs: 0 }
  const ask = share(
    (_key: string) => {
      const read = Promise.withResolvers<string>()
      reads.push(read)
      return read.promise
    },
    5_000,
    () => clock.nowMs,
  )
  return { reads, clock, ask }
}

t.test('a slow value is read once for all waiting callers, and is reused for a while', async (t) => {
  const { reads, clock, ask } = shared()
  const first = ask('24h')
  clock.nowMs = 14_000
  const second = ask('24h')
  t.equal(reads.length, 1)
  reads[0]?.resolve('counted')
  t.same(await Promise.all([first, second]), ['counted', 'counted'])
  clock.nowMs = 18_999
  t.equal(await ask('24h'), 'counted')
  t.equal(reads.length, 1)
  clock.nowMs = 19_000
  void ask('24h')
  t.equal(reads.length, 2)
})

t.test('a failure reaches all waiting callers and is not cached', async (t) => {
  const { reads, ask } = shared()
  const both = [ask('24h'), ask('24h')]
  reads[0]?.reject(new Error('no database'))
  for (const one of both) await t.rejects(one, { message: 'no database' })
  void ask('24h')
  t.equal(reads.length, 2)
})
