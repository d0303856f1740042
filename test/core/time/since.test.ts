import t from 'tap'
import { parseSince } from '../../../src/core/time/duration.ts'

t.test('a duration is read as milliseconds ago', async (t) => {
  t.equal(parseSince('7d'), 7 * 86_400_000)
  t.equal(parseSince('90m', 'end'), 90 * 60_000)
  t.equal(parseSince('36500d'), 36_500 * 86_400_000)
})

t.test('a time is read in any zone, a day as its start or its end', async (t) => {
  t.equal(parseSince('2026-01-31T12:00:00Z'), '2026-01-31T12:00:00.000000Z')
  t.equal(parseSince('2026-01-31T00:30:00.123456+01:00'), '2026-01-30T23:30:00.123456Z')
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
