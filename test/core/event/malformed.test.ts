import { readFile } from 'node:fs/promises'
import t from 'tap'
import { loadEnvelopeMap } from '../../../src/core/event/envelope-map.ts'
import { parseEvent, VALUE_BYTES_MAX } from '../../../src/core/event/parse-event.ts'
import { MALFORMED } from './malformed.ts'

const envelopeMap = loadEnvelopeMap(
  await readFile(new URL('../../../rules/envelope.json', import.meta.url), 'utf8'),
)

t.test('at least 200 distinct malformed messages are each rejected with their reason', async (t) => {
  const values = new Set(MALFORMED.map(({ value }) => value?.toString('latin1') ?? null))
  t.ok(values.size >= 200)
  t.equal(values.size, MALFORMED.length, 'each is another')
  const wrong = MALFORMED.flatMap(({ title, value, code }) => {
    const parsed = parseEvent({ offset: 0n, key: null, value, headers: {} }, envelopeMap)
    const found = parsed.kind === 'rejection' ? parsed.rejection.code : parsed.kind
    return found === code ? [] : [{ title, code, found }]
  })
  t.same(wrong, [])
})

t.test('a value of 16 MiB is an event, a larger one is not', (t) => {
  const value = Buffer.alloc(VALUE_BYTES_MAX + 1, ' ')
  value.write('{"eventId":"a","eventType":"b"}')
  const parse = (bytes: Buffer) =>
    parseEvent({ offset: 0n, key: null, value: bytes, headers: {} }, envelopeMap)
  t.same(parse(value), {
    kind: 'rejection',
    rejection: { code: 'too-large', error: 'the value has 16777217 bytes, more than 16777216' },
  })
  t.equal(parse(value.subarray(0, VALUE_BYTES_MAX)).kind, 'event')
  t.end()
})
