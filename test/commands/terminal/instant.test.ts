import t from 'tap'
import { parseInstant } from '../../../src/commands/terminal/instant.ts'

t.test('an instant is read in any zone, a day as its start or its end', async (t) => {
  t.equal(parseInstant('2026-01-31T12:00:00Z', 'start'), '2026-01-31T12:00:00.000000Z')
  t.equal(parseInstant('2026-01-31T00:30:00.123456+01:00', 'start'), '2026-01-30T23:30:00.123456Z')
  t.equal(parseInstant('2026-01-31', 'start'), '2026-01-31T00:00:00.000000Z')
  t.equal(parseInstant('2026-01-31', 'end'), '2026-01-31T23:59:59.999999Z')
})

t.test('what is none is refused', async (t) => {
  for (const text of [
    '2026-02-30',
    '2026-02-30T12:00:00Z',
    '2026-01-31T12:00:00',
    '2026-01-31 12:00',
    '2026-13-01',
    '2026-01-31T12:00:00.1234567Z',
    '2026-01-31T12:00:00+99:00',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    'yesterday',
    '',
  ]) {
    t.equal(parseInstant(text, 'start'), null, text)
  }
})
