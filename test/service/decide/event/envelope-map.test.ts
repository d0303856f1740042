import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  FIELDS,
  findUnusedMaps,
  loadEnvelopeMaps,
  mapOf,
} from '../../../../src/service/decide/event/envelope-map.ts'
import { digitsAt, parsePointer, valueAt } from '../../../../src/service/decide/event/json-pointer.ts'
import { faultsIn } from '../../build.ts'

const at = (json: object, pointer: string) => valueAt(json, parsePointer(pointer))
const source = (jsonText: string, pointer: string) => digitsAt(jsonText, parsePointer(pointer))

t.test('a value is returned unchanged, undefined if it does not exist', async (t) => {
  const pointer = '/payload/locator'
  for (const value of [null, 0, false, '', 7, 'x', [], {}])
    t.strictSame(at({ payload: { locator: value } }, pointer), value)
  for (const payload of [undefined, null, 7, 'text', true, [], {}, [{ locator: 1 }]]) {
    t.equal(at({ payload }, pointer), undefined, JSON.stringify(payload))
  }
  t.equal(at({}, pointer), undefined)
  t.equal(at([], pointer), undefined)
})

const ENVELOPE =
  '{"a/b": 1, "m~n": 2, " ": 3, "~1": 4, "": 5, "a": {"": 6}, "list": [10, {"x": 11}], "0": 7, "é": 8}'

t.test('pointers follow RFC 6901, in a value and in its source', async (t) => {
  const cases: Record<string, number> = {
    '/': 5,
    '/a~1b': 1,
    '/m~0n': 2,
    '/ ': 3,
    '/~01': 4,
    '/a/': 6,
    '/0': 7,
    '/é': 8,
    '/list/0': 10,
    '/list/1/x': 11,
  }
  for (const [pointer, value] of Object.entries(cases)) {
    t.equal(at(JSON.parse(ENVELOPE), pointer), value, pointer)
    t.equal(source(ENVELOPE, pointer), String(value), pointer)
  }
  for (const pointer of ['/list/2', '/list/-', '/list/00', '/list/length', '/list/1.0', '/a/b']) {
    t.equal(at(JSON.parse(ENVELOPE), pointer), undefined, pointer)
  }
})

t.test('only own properties are found', async (t) => {
  const plain = JSON.parse('{"payload": {}}')
  for (const pointer of [
    '/__proto__',
    '/constructor',
    '/toString',
    '/payload/__proto__',
    '/payload/constructor/name',
  ]) {
    t.equal(at(plain, pointer), undefined, pointer)
  }
  const own = '{"__proto__": {"x": 1.0}}'
  t.equal(at(JSON.parse(own), '/__proto__/x'), 1, 'an own __proto__ is a field like any other')
  t.equal(source(own, '/__proto__/x'), '1.0')
})

t.test('a deeply nested envelope is searched', async (t) => {
  const text = `${'{"a":'.repeat(1_000)}1.0${'}'.repeat(1_000)}`
  t.equal(at(JSON.parse(text), '/a'.repeat(1_000)), 1)
  t.equal(at(JSON.parse(text), '/a'.repeat(1_001)), undefined)
  t.equal(source(text, '/a'.repeat(1_000)), '1.0')
})

t.test('a repeated name has the digits of the value that JSON.parse keeps', async (t) => {
  const cases: [string, string, string][] = [
    ['{"a":1.0,"a":2.0}', '/a', '2.0'],
    ['{"p":{"a":1.0},"p":{"b":0,"a":3.0}}', '/p/a', '3.0'],
    ['{"\\u0061":1.0}', '/a', '1.0'],
    ['{"a":1.0,"\\u0061":2.0}', '/a', '2.0'],
    ['{"x\\"a\\\\":{"a":0},"a":2.0}', '/a', '2.0'],
    ['{"x":"\\"a\\":9","a":2.0}', '/a', '2.0'],
    ['{"x":{"a":9.0},"a":2.0}', '/a', '2.0'],
    ['{"x":[{"a":9.0},[],"]"],"a":2.0}', '/a', '2.0'],
    ['\r\n\t { "a"\n:\t[ {} , [1] , -1.50E+10 ] }', '/a/2', '-1.50E+10'],
    ['{"a":[[1.0,2.0],[3.0,4.0]]}', '/a/1/0', '3.0'],
  ]
  for (const [text, pointer, expected] of cases) {
    t.equal(source(text, pointer), expected, text)
    t.strictSame(JSON.parse(expected), at(JSON.parse(text), pointer), text)
  }
})

t.test('JSON too deep for a reviver has no digits', async (t) => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  t.equal(source(`{"x":${deep},"a":1.0}`, '/a'), null)
})

const defaults = readFileSync(new URL('../../../first/rules/envelope.json', import.meta.url), 'utf8')

const KEYS = [...FIELDS, 'value'].join(', ')
const faultsOf = (jsonText: string) => faultsIn(() => loadEnvelopeMaps(jsonText))

t.test('the default map reads the fields of the specification', async (t) => {
  const { byDefault, byTopic } = loadEnvelopeMaps(defaults)
  t.match(byDefault, {
    eventId: [{ pointer: ['eventId'] }],
    eventType: [{ pointer: ['eventType'] }],
    partyLocator: [{ pointer: ['partyLocator'] }],
    locator: [{ pointer: ['payload', 'locator'] }],
    reason: [{ pointer: ['payload', 'reason'] }],
    value: 'json',
  })
  t.equal(byTopic.size, 0)
})

t.test('a field may be in a header', async (t) => {
  const { byDefault: map } = loadEnvelopeMaps(
    '{"eventId": "header:ce_id", "partyLocator": "/p", "locator": "/l", "reason": "/r", "value": "confluent-json"}',
  )
  t.match(map, { eventId: [{ header: 'ce_id' }], value: 'confluent-json' })
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
    ['["/r", "/l"]', '"/l" is already the place of "locator"'],
    ['[]', 'the list of places is empty'],
    ['["/r", "/r"]', 'the list names a place twice'],
    ['["/r", 7]', '7 is not a string'],
  ]
  for (const [source, fault] of cases) t.strictSame(faultsOf(map(source)), [`"reason": ${fault}`])
  for (const json of ['[]', 'null']) t.strictSame(faultsOf(json), ['it is not a JSON object'])
  t.match(faultsOf(''), [/^it is not JSON: /])
  t.strictSame(faultsOf(`\uFEFF${defaults}`), [], 'a BOM is let pass')
})

t.test('all faults are reported at once', async (t) => {
  t.strictSame(faultsOf('{"Locator": "/x", "__proto__": "/y", "reason": "r", "partyLocator": "p"}'), [
    `"Locator" is not a key: the keys are ${KEYS}, topics; did you mean "locator"?`,
    `"__proto__" is not a key: the keys are ${KEYS}, topics`,
    '"locator" is missing',
    '"partyLocator": "p" is not a JSON Pointer to a field: it must start with "/"; did you mean "/p"?',
    '"reason": "r" is not a JSON Pointer to a field: it must start with "/"; did you mean "/r"?',
  ])
  t.throws(() => loadEnvelopeMaps('{}'), {
    name: 'EnvelopeMapError',
    message:
      'the envelope map has 3 faults:\n  "partyLocator" is missing\n  "locator" is missing\n  "reason" is missing',
  })
})

t.test('a topic states only what differs from the default map', async (t) => {
  const billing = { eventId: ['header:id', '/id'], value: 'json-in-string' }
  const maps = loadEnvelopeMaps(JSON.stringify({ ...JSON.parse(defaults), topics: { billing, claims: {} } }))
  t.match(mapOf(maps, 'billing'), {
    eventId: [{ header: 'id' }, { pointer: ['id'] }],
    locator: [{ pointer: ['payload', 'locator'] }],
    value: 'json-in-string',
  })
  for (const topic of ['claims', 'enrollment', '__proto__']) t.strictSame(mapOf(maps, topic), maps.byDefault)
  t.strictSame(findUnusedMaps(maps, ['billing', 'claims']), [])
  t.strictSame(findUnusedMaps(maps, ['claims', 'bilings']), [
    'rules/envelope.json has a map for the topic "billing", which is not in MQ_TOPICS; did you mean "bilings"?',
  ])
})

t.test('a fault of a topic names it, and those of the default map are not repeated', async (t) => {
  const withTopics = (topics: unknown, own = {}) =>
    faultsOf(JSON.stringify({ ...JSON.parse(defaults), ...own, topics }))
  t.strictSame(
    withTopics({ billing: { eventID: '/id', reason: '/payload/locator', value: 'xml', topics: {} } }),
    [
      `topic "billing": "eventID" is not a key: the keys are ${KEYS}; did you mean "eventId"?`,
      `topic "billing": "topics" is not a key: the keys are ${KEYS}`,
      'topic "billing": "reason": "/payload/locator" is already the place of "locator"',
      'topic "billing": "value": "xml" is not one of json, json-in-string, confluent-json',
    ],
  )
  t.strictSame(withTopics({ billing: {}, claims: { locator: '/id' } }, { locator: 'id' }), [
    '"locator": "id" is not a JSON Pointer to a field: it must start with "/"; did you mean "/id"?',
  ])
  t.strictSame(withTopics({ billing: '/id' }), ['topic "billing": its map is not a JSON object'])
  t.strictSame(withTopics([]), ['"topics": [] is not an object of topics and their maps'])
})
