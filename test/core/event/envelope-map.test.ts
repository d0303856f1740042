import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadEnvelopeMap } from '../../../src/core/event/envelope-map.ts'
import { faultsIn } from '../build.ts'

const defaults = readFileSync(new URL('../../../rules/envelope.json', import.meta.url), 'utf8')

const faultsOf = (jsonText: string) => faultsIn(() => loadEnvelopeMap(jsonText))

t.test('the default map reads the fields of the specification', async (t) => {
  t.same(loadEnvelopeMap(defaults), {
    eventId: { pointer: ['eventId'] },
    eventType: { pointer: ['eventType'] },
    partyLocator: { pointer: ['partyLocator'] },
    locator: { pointer: ['payload', 'locator'] },
    reason: { pointer: ['payload', 'reason'] },
    value: 'json',
  })
})

t.test('a field may be in a header', async (t) => {
  const map = loadEnvelopeMap(
    '{"eventId": "header:ce_id", "partyLocator": "/p", "locator": "/l", "reason": "/r", "value": "confluent-json"}',
  )
  t.match(map, { eventId: { header: 'ce_id' }, value: 'confluent-json' })
  t.strictSame(faultsOf('{"eventId": "header: ", "partyLocator": "/p", "locator": "/l", "reason": "/r"}'), [
    '"eventId": "header: " names no header: write for example "header:ce_id"',
  ])
  t.strictSame(faultsOf('{"value": "avro", "partyLocator": "/p", "locator": "/l", "reason": "/r"}'), [
    '"value": "avro" is not one of json, json-in-string, confluent-json',
  ])
})

t.test('each fault names what is wrong and the remedy', async (t) => {
  const map = (reason: string) => `{"partyLocator": "/p", "locator": "/l", "reason": ${reason}}`
  const notAField = 'is not a JSON Pointer to a field: it must start with "/"'
  const notEscaped = 'is not a JSON Pointer: write "~0" for "~" and "~1" for "/" within a name'
  const cases: [source: string, fault: string][] = [
    ['"reason"', `"reason" ${notAField}; did you mean "/reason"?`],
    ...['payload.reason', '$.payload.reason', '#/payload/reason', 'payload/reason'].map(
      (path): [string, string] => [
        JSON.stringify(path),
        `"${path}" ${notAField}; did you mean "/payload/reason"?`,
      ],
    ),
    ['""', `"" ${notAField}`],
    ['"/a~2b"', `"/a~2b" ${notEscaped}`],
    ['"/a~"', `"/a~" ${notEscaped}`],
    ['7', '7 is not a string'],
    ['null', 'null is not a string'],
    ['"/l"', '"/l" is already the place of "locator"'],
  ]
  for (const [source, fault] of cases) t.strictSame(faultsOf(map(source)), [`"reason": ${fault}`])
  for (const json of ['[]', 'null']) t.strictSame(faultsOf(json), ['it is not a JSON object'])
  t.match(faultsOf(''), [/^it is not JSON: /])
  t.strictSame(faultsOf(`\uFEFF${defaults}`), [], 'a BOM is let pass')
})

t.test('all faults are reported at once', async (t) => {
  t.strictSame(faultsOf('{"Locator": "/x", "__proto__": "/y", "reason": "r", "partyLocator": "p"}'), [
    '"Locator" is not a key: the keys are eventId, eventType, partyLocator, locator, reason, value; did you mean "locator"?',
    '"__proto__" is not a key: the keys are eventId, eventType, partyLocator, locator, reason, value',
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
