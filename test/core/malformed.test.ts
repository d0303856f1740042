import { readFile } from 'node:fs/promises'
import t from 'tap'
import { loadEnvelopeMap } from '../../src/core/envelope.ts'
import { parseEvent } from '../../src/core/event.ts'
import { MALFORMED } from './malformed.ts'

const envelopeMap = loadEnvelopeMap(
  await readFile(new URL('../../rules/envelope.json', import.meta.url), 'utf8'),
)

t.test('at least 200 distinct malformed messages are each rejected with their reason', async (t) => {
  const values = new Set(MALFORMED.map(({ value }) => value?.toString('latin1') ?? null))
  t.ok(values.size >= 200)
  t.equal(values.size, MALFORMED.length, 'each is another')
  const wrong = MALFORMED.flatMap(({ title, value, code }) => {
    const parsed = parseEvent({ offset: 0n, key: null, value, headers: {} }, envelopeMap)
    const found = parsed.kind === 'event' ? 'event' : parsed.rejection.code
    return found === code ? [] : [{ title, code, found }]
  })
  t.same(wrong, [])
})
