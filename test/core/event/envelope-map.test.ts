import { readFileSync } from 'node:fs'
import t from 'tap'
import { EnvelopeMapError, loadEnvelopeMap } from '../../../src/core/event/envelope-map.ts'

const defaults = readFileSync(new URL('../../../rules/envelope.json', import.meta.url), 'utf8')

function faultsOf(jsonText: string): readonly string[] {
  try {
    loadEnvelopeMap(jsonText)
  } catch (error) {
    if (error instanceof EnvelopeMapError) return error.faults
    throw error
  }
  return []
}

/** A map whose `reason` has this pointer. */
function reasonAt(pointer: string): (envelope: object) => unknown {
  return loadEnvelopeMap(JSON.stringify({ partyLocator: '/p', locator: '/l', reason: pointer })).reason
}

t.test('the default map finds party locator, locator and reason', async (t) => {
  const map = loadEnvelopeMap(defaults)
  const envelope = { eventId: 'e', partyLocator: 'P-1', payload: { locator: 'C-1', reason: 'late' } }
  t.equal(map.partyLocator(envelope), 'P-1')
  t.equal(map.locator(envelope), 'C-1')
  t.equal(map.reason(envelope), 'late')
})

t.test('a value is returned as it is, undefined where there is none', async (t) => {
  const { locator } = loadEnvelopeMap(defaults)
  for (const value of [null, 0, false, '', 7, 'x', [], {}])
    t.strictSame(locator({ payload: { locator: value } }), value)
  for (const payload of [undefined, null, 7, 'text', true, [], {}, [{ locator: 1 }]]) {
    t.equal(locator({ payload }), undefined, JSON.stringify(payload))
  }
  t.equal(locator({}), undefined)
  t.equal(locator([]), undefined)
})

t.test('pointers follow RFC 6901', async (t) => {
  const envelope = JSON.parse(
    '{"a/b": 1, "m~n": 2, " ": 3, "~1": 4, "": 5, "a": {"": 6}, "list": [10, {"x": 11}], "0": 7, "é": 8}',
  )
  t.equal(reasonAt('/')(envelope), 5)
  t.equal(reasonAt('/a~1b')(envelope), 1)
  t.equal(reasonAt('/m~0n')(envelope), 2)
  t.equal(reasonAt('/ ')(envelope), 3)
  t.equal(reasonAt('/~01')(envelope), 4)
  t.equal(reasonAt('/a/')(envelope), 6)
  t.equal(reasonAt('/0')(envelope), 7)
  t.equal(reasonAt('/é')(envelope), 8)
  t.equal(reasonAt('/list/0')(envelope), 10)
  t.equal(reasonAt('/list/1/x')(envelope), 11)
  for (const pointer of ['/list/2', '/list/-', '/list/00', '/list/length', '/list/1.0', '/a/b']) {
    t.equal(reasonAt(pointer)(envelope), undefined, pointer)
  }
})

t.test('only own properties are seen', async (t) => {
  const plain = JSON.parse('{"payload": {}}')
  for (const pointer of [
    '/__proto__',
    '/constructor',
    '/toString',
    '/payload/__proto__',
    '/payload/constructor/name',
  ]) {
    t.equal(reasonAt(pointer)(plain), undefined, pointer)
  }
  t.equal(
    reasonAt('/__proto__/x')(JSON.parse('{"__proto__": {"x": 1}}')),
    1,
    'an own __proto__ is a field like any other',
  )
})

t.test('a deep envelope is walked', async (t) => {
  const envelope = JSON.parse(`${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`)
  t.equal(reasonAt('/a'.repeat(1_000))(envelope), 1)
  t.equal(reasonAt('/a'.repeat(1_001))(envelope), undefined)
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
