import t from 'tap'
import { backOffMs } from '../../../src/service/time/back-off.ts'
import { parseSince } from '../../../src/service/time/duration.ts'
import { share } from '../../../src/service/time/share.ts'
import { withTimeout } from '../../../src/service/time/with-timeout.ts'

t.test('the pause doubles with each failure, up to a limit', async (t) => {
  t.strictSame([0, 1, 2, 3, 4, 5, 10_000].map(backOffMs), [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
})

t.test('a duration is read as milliseconds ago', async (t) => {
  t.equal(parseSince('7d'), 7 * 86_400_000)
  t.equal(parseSince('90m', 'end'), 90 * 60_000)
  t.equal(parseSince('36500d'), 36_500 * 86_400_000)
})

t.test('a time is read in any zone, a day as its start or its end', async (t) => {
  t.equal(parseSince('2026-01-31T12:00:00Z'), '2026-01-31T12:00:00.000000Z')
  t.equal(parseSince('2026-01-31T00:30:00.123456+01:00'), '2026-01-30T23:30:00.123456Z')
  t.equal(parseSince('0001-01-01T00:00:00Z'), '0001-01-01T00:00:00.000000Z')
  t.equal(parseSince('9999-12-31T23:59:59.999999Z'), '9999-12-31T23:59:59.999999Z')
  t.equal(parseSince('2026-01-31'), '2026-01-31T00:00:00.000000Z')
  t.equal(parseSince('2026-01-31', 'end'), '2026-01-31T23:59:59.999999Z')
})

t.test('other texts are refused', async (t) => {
  for (const text of [
    '2026-02-30',
    '2026-02-30T12:00:00Z',
    '2026-01-31T12:00:00',
    '2026-01-31T24:00:00Z',
    '2026-01-31 12:00',
    '2026-13-01',
    '2026-01-31T12:00:00.1234567Z',
    '2026-01-31T12:00:00+99:00',
    '0000-01-01',
    '0000-01-01T00:00:00+01:00',
    '0001-01-01T00:00:00+02:00',
    '1769860800',
    'infinity',
    '9999-12-31T23:59:59-01:00',
    'yesterday',
    '36501d',
    '7 d',
    '-1d',
    '7',
    '',
  ]) {
    t.equal(parseSince(text), null, text)
  }
})

function shared() {
  const reads: PromiseWithResolvers<string>[] = []
  const clock = { nowMs: 0 }
  const ask = share(
    (_key: string) => {
      const read = Promise.withResolvers<string>()
      reads.push(read)
      return read.promise
    },
    { validMs: 5_000, deadlineMs: 15_000 },
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
  t.strictSame(await Promise.all([first, second]), ['counted', 'counted'])
  clock.nowMs = 18_999
  t.equal(await ask('24h'), 'counted')
  t.equal(reads.length, 1)
  clock.nowMs = 19_000
  void ask('24h')
  t.equal(reads.length, 2)
})

t.test('a read that hangs is shared with nobody who comes after its deadline', async (t) => {
  const { reads, clock, ask } = shared()
  const early = ask('24h')
  clock.nowMs = 15_000
  const late = ask('24h')
  t.equal(reads.length, 2)
  reads[1]?.resolve('late')
  t.equal(await late, 'late')
  reads[0]?.reject(new Error('gave up'))
  await t.rejects(early, { message: 'gave up' })
  t.equal(await ask('24h'), 'late', 'an earlier failure does not end what came after it')
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

t.test('a promise counts within its timeout, and a failure after it is ignored', async (t) => {
  const never = new Promise<string>(() => {})
  t.equal(await withTimeout(60_000, Promise.resolve('found'), () => 'late'), 'found')
  t.equal(await withTimeout(1, never, () => 'late'), 'late')
  await t.rejects(
    withTimeout(60_000, Promise.reject(new Error('refused')), () => 'late'),
    { message: 'refused' },
  )
  const later = Promise.withResolvers<string>()
  await t.rejects(
    withTimeout(1, later.promise, () => {
      throw new Error('no response')
    }),
    { message: 'no response' },
  )
  later.reject(new Error('refused, too late'))
})
