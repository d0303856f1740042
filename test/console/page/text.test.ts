import t from 'tap'
import {
  ago,
  decodeBegin,
  describePeriod,
  exactTime,
  localTime,
  stepName,
  toFormTime,
  toInstant,
  visible,
} from '../../../src/console/page/text.ts'

t.test('characters that hide or reorder text are shown', async (t) => {
  t.equal(visible('abc\u202Edef\u0000\u200B'), 'abc[U+202E]def[U+0000][U+200B]')
  t.equal(visible('two\nlines\tü 👩‍👩‍👧 <b>'), 'two\nlines\tü 👩‍👩‍👧 <b>')
})

t.test('the start of a message is shown as text, wherever it is cut, else as digits', async (t) => {
  const base64 = (bytes: string | number[]) => Buffer.from(bytes as string).toString('base64')
  t.equal(decodeBegin(base64('{"a":1}'), 7), '{"a":1}')
  t.equal(decodeBegin(base64([...Buffer.from('ü€')].slice(0, 4)), 5), 'ü …')
  t.equal(decodeBegin(base64([0xff, 0x00, 0x0a]), 3), 'ff 00 0a')
  t.equal(decodeBegin('', 0), '')
})

t.test("times are in the reader's time zone, and survive a form unchanged", async (t) => {
  const iso = '2026-01-31T12:00:05.000Z'
  t.match(localTime(iso), /^(31 Jan|1 Feb) 2026, \d\d:\d\d$/)
  t.equal(localTime('odd'), 'odd')
  t.equal(exactTime('infinity'), 'infinity')
  t.equal(toInstant(toFormTime(iso)), iso)
  t.equal(toInstant(''), '')
  t.equal(toFormTime(undefined), '')
})

t.test('a period shows its dates, with the times unless it is whole days', async (t) => {
  const at = (...[day, ...time]: [number, ...number[]]) => new Date(2026, 10, day, ...time).toISOString()
  const nowMs = new Date(2026, 10, 26, 12, 48).getTime()
  const told = (from?: string, to?: string) => describePeriod(from, to, nowMs).replaceAll(/\s/g, ' ')
  t.equal(told(at(26)), '26 Nov 2026')
  t.equal(told(at(25), at(26)), '25 Nov 2026')
  t.match(told(at(20)), /^20 ?– ?26 Nov 2026$/)
  t.equal(told(at(19, 12, 48)), '19 Nov 2026, 12:48 – 26 Nov 2026, 12:48')
  t.equal(told(undefined, at(26)), 'before 26 Nov 2026, 00:00')
  t.equal(told(at(27)), 'from 27 Nov 2026, 00:00')
  t.equal(told('odd'), 'from odd')
})

t.test('a step is named in the shortest unit that is exact', async (t) => {
  const startS = new Date(2026, 0, 31, 12, 5, 30).getTime() / 1_000
  t.equal(stepName(startS, 15), '12:05:30')
  t.equal(stepName(startS, 60), '12:05')
  t.equal(stepName(startS, 43_200), '2026-01-31 12:05')
})

t.test('a recent time is shown as an age, an old one as a date', async (t) => {
  const nowMs = new Date('2026-01-31T12:00:00').getTime()
  const told = (local: string) => ago(new Date(local).toISOString(), nowMs)
  t.equal(told('2026-01-31T11:59:30'), 'just now')
  t.equal(told('2026-01-31T11:55:00'), '5 min ago')
  t.equal(told('2026-01-31T10:00:01'), '1 h ago')
  t.equal(told('2026-01-30T12:00:00'), '1 day ago')
  t.equal(told('2025-12-01T12:00:00'), '2025-12-01')
  t.equal(told('2026-01-31T13:00:00'), '31 Jan 2026, 13:00', 'a clock is wrong')
  t.equal(ago('odd', nowMs), 'odd')
})
