import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadEnvelopeMap } from '../../../src/core/event/envelope-map.ts'
import { valueAt } from '../../../src/core/event/json-pointer.ts'
import { faultsIn } from '../build.ts'

const defaults = readFileSync(new URL('../../../rules/envelope.json', import.meta.url), 'utf8')

const faultsOf = (jsonText: string) => faultsIn(() => loadEnvelopeMap(jsonText))

t.test('the default map finds party locator, locator and reason', async (t) => {
  const map = loadEnvelopeMap(defaults)
  const envelope = { eventId: 'e', partyLocator: 'P-1', payload: { locator: 'C-1', reason: 'late' } }
  t.equal(valueAt(envelope, map.partyLocator), 'P-1')
  t.equal(valueAt(envelope, map.locator), 'C-1')
  t.equal(valueAt(envelope, map.reason), 'late')
})

t.test('each fault names what is wrong and what would be right', async (t) => {
  const map = (reason: string) => `{"partyLocator": "/p", "locator": "/l", "reason": ${reason}}`
  t.strictSame(faultsOf(map('"reason"')), [
    '"reason": "reason" is not a JSON Pointer to a field: it must start with "/"; did you mean "/reason"?',
  ])
  for (const path of ['payload.reason', '$.payload.reason', '#/payload/reason', 'payload/reason']) {
    t.strictSame(faultsOf(map(JSON.stringify(path))), [
      `"reason": "${path}" is not a JSON Pointer to a field: it must start with "/"; did you mean "/payload/reason"?`,
    ])
  }
  t.strictSame(faultsOf(map('""')), ['"reason": "" is not a JSON Pointer to a field: it must start with "/"'])
  t.strictSame(faultsOf(map('"/a~2b"')), [
    '"reason": "/a~2b" is not a JSON Pointer: write "~0" for "~" and "~1" for "/" within a name',
  ])
  t.strictSame(faultsOf(map('"/a~"')), [
    '"reason": "/a~" is not a JSON Pointer: write "~0" for "~" and "~1" for "/" within a name',
  ])
  t.strictSame(faultsOf(map('7')), ['"reason": 7 is not a string'])
  t.strictSame(faultsOf(map('null')), ['"reason": null is not a string'])
  t.strictSame(faultsOf(map('"/l"')), ['"reason": "/l" is already the pointer of "locator"'])
  t.strictSame(faultsOf(map('"/r", "reason": "/s"')), ['"reason" appears twice'])
  t.strictSame(faultsOf(map('"/r", "re\\u0061son" : "/s"')), ['"reason" appears twice'])
  t.strictSame(faultsOf(map('"/re\\"ason\\": x"')), [], 'what looks like a key within a string is none')
  t.strictSame(faultsOf('[]'), ['it is not a JSON object'])
  t.strictSame(faultsOf('null'), ['it is not a JSON object'])
  t.match(faultsOf(''), [/^it is not JSON: /])
  t.strictSame(faultsOf(`\uFEFF${defaults}`), [], 'a BOM is let pass')
})

t.test('all faults are named in one go', async (t) => {
  t.strictSame(faultsOf('{"Locator": "/x", "__proto__": "/y", "reason": "r", "partyLocator": "p"}'), [
    '"Locator" is not a field: the fields are partyLocator, locator, reason; did you mean "locator"?',
    '"__proto__" is not a field: the fields are partyLocator, locator, reason',
    '"locator" is missing',
    '"partyLocator": "p" is not a JSON Pointer to a field: it must start with "/"; did you mean "/p"?',
    '"reason": "r" is not a JSON Pointer to a field: it must start with "/"; did you mean "/r"?',
  ])
  t.throws(() => loadEnvelopeMap('{}'), {
    name: 'EnvelopeMapError',
    message:
      'the envelope map has 3 faults:\n  "partyLocator" is missing\n  "locator" is missing\n  "reason" is missing',
  })
})
