import t from 'tap'
import { digitsAt, parsePointer, valueAt } from '../../../src/core/event/json-pointer.ts'

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
    t.same(JSON.parse(expected), at(JSON.parse(text), pointer), text)
  }
})

t.test('JSON too deep for a reviver has no digits', async (t) => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  t.equal(source(`{"x":${deep},"a":1.0}`, '/a'), null)
})
