import type { RejectionCode } from '../../../src/core/event/rejection.ts'

export interface Malformed {
  readonly title: string
  readonly value: Buffer
  readonly code: RejectionCode
}

const bytes = (...values: number[]) => Buffer.from(values)
const around = (payload: Buffer | string) =>
  Buffer.concat([
    Buffer.from('{"eventId":"malformed","eventType":"claim.paid","partyLocator":"party-1","payload":'),
    Buffer.from(payload),
    Buffer.from('}'),
  ])

/** The text between blanks, unchanged. */
const words = ({ raw }: TemplateStringsArray) => raw.join('').trim().split(/\s+/)

/** Text that is no JSON, after the cases that a parser must refuse in nst/JSONTestSuite. */
const NO_JSON = [
  // Numbers.
  ...words`
    +1 ++1234 - --1 -01 -1.0. -2. -Infinity -NaN -foo -012 -.123 -1x .-1 .2e-3 0.1.2 0.3e+ 0.3e 0.e1
    0e+ 0e 0E 0E+ 012 0x1 0x42 1.0e+ 1.0e- 1.0e 1eE2 1e 2.e+3 2.e-3 2.e3 1+2 1ea 9.e+ 1,5 Inf
    Infinity NaN nan 1_000 0b1 1n 1f 1.8011670033376514H-308 1.2a-3
  `,
  ...['- 1', '1 000.0', '\uff11'],
  // Arrays.
  ...words`
    [ ] [1 [1, [1,] [,1] [1,,2] [,] ["",] ["" [1:2] ["x"]] [[] []] [1]x [1], [*] [3[4]] [a ["a",4,1,
    [x] [1} [} []{}
  `,
  ...['[1 2]', '["a" "b"]', '[\u000c]'],
  // Objects.
  ...words`
    { } {] {"a" {"a": {"a":1 {"a":1, {"a":1,} {,} {,"a":1} {"a":1,,"b":2} {"a","b"} {"a"::1} {'a':1}
    {a:1} {1:1} {null:1} {[]:1} {"a":1}x {"a":1}/**/ {"a":1}// {"a":1}# {/**/} {"a":/*b*/1}
    {"a":1;"b":2} {"a"=1} {"a":"b"}} {"a":a} {}{} {:1} {"x"::"b"} {"a":} {"a":1:2} {{}}
  `,
  ...['{"a" 1}', '{"a":1 "b":2}', '{"a" : "b", ...}'],
  // Strings.
  ...words`
    " 'a' "a "a"" "\" "\u" "\u0" "\u00" "\u00a" "\u00g0" "\ud800\u" "\x00" "\a" "\0" "\'" "\U0041"
    "a"b \n \u0061
  `,
  ...['"\\', '"\\ "', '"\u0009"', '"\u000a"', '"\u000d"', '"\u0000"', '"\u0001"', '"\u001f"'],
  ...['"\\\u0000"', '`a`', '\u201ca\u201d', '"a" + "b"', '"\\\u{1f600}"'],
  // Words and whatever else.
  ...words`
    nul nulll Null NULL tru True TRUE fals falsee undefined none yes _ <a/> --- key=value /**/ // #
    * (1) {{a}} $ @
  `,
  ...['<!DOCTYPE html>', 'eventId: 1', '\u00a0', '\u2028', '\u2060', '\u200b', '\u000b'],
  ...['\u0000', '\u007f', '\u00e5', '1\u0000', '[1]\u0000'],
]

/** Bytes that are no UTF-8. */
const NO_UTF8: [title: string, value: Buffer][] = [
  ['a lone continuation byte', bytes(0x80)],
  ['a lead byte without its second', bytes(0xc3)],
  ['a lead byte before ASCII', bytes(0xc3, 0x28)],
  ['two of three bytes', bytes(0xe2, 0x82)],
  ['three of four bytes', bytes(0xf0, 0x9f, 0x98)],
  ['an overlong slash of two bytes', bytes(0xc0, 0xaf)],
  ['an overlong slash of three bytes', bytes(0xe0, 0x80, 0xaf)],
  ['an overlong slash of four bytes', bytes(0xf0, 0x80, 0x80, 0xaf)],
  ['an overlong NUL', bytes(0xc0, 0x80)],
  ['a high surrogate', bytes(0xed, 0xa0, 0x80)],
  ['a low surrogate', bytes(0xed, 0xb0, 0x80)],
  ['a pair of surrogates (CESU-8)', bytes(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80)],
  ['beyond U+10FFFF', bytes(0xf4, 0x90, 0x80, 0x80)],
  ['five bytes', bytes(0xf8, 0x88, 0x80, 0x80, 0x80)],
  ['six bytes', bytes(0xfc, 0x84, 0x80, 0x80, 0x80, 0x80)],
  ['0xFE', bytes(0xfe)],
  ['0xFF', bytes(0xff)],
  ['Latin-1', Buffer.from('caf\u00e9', 'latin1')],
  ['Windows-1252', bytes(0x93, 0x61, 0x94)],
  ['a character cut by its end', Buffer.from('\u4e2d').subarray(0, 2)],
]

const event = (fields: Record<string, unknown>) => Buffer.from(JSON.stringify(fields))
/** Invalid identifiers, as JSON. */
const NO_IDENTIFIERS: [title: string, json: string][] = [
  ['null', 'null'],
  ['true', 'true'],
  ['a list', '["a"]'],
  ['an empty list', '[]'],
  ['an object', '{"id":"a"}'],
  ['an empty object', '{}'],
  ['empty', '""'],
  ['of 256 characters', JSON.stringify('x'.repeat(256))],
  ['of 256 code units', JSON.stringify('\u{1f600}'.repeat(128))],
  ['of 100,000 characters', JSON.stringify('x'.repeat(100_000))],
  ['NUL', '"\\u0000"'],
  ['with NUL in it', '"a\\u0000b"'],
  ['a high surrogate', '"\\ud800"'],
  ['a low surrogate', '"\\udc00"'],
  ['surrogates in the wrong order', '"\\udc00\\ud800"'],
]

const OTHERS: [title: string, value: Buffer | string, code: RejectionCode][] = [
  ['empty', '', 'empty'],
  ...[...words`null true false 0 -0 1e999 "" "event" [] [{}] [[[]]]`, ' null ', '\ufeff1'].map(
    (value): [string, string, RejectionCode] => [`${value}, which is no object`, value, 'not-object'],
  ),
  ['blanks', ' \t\r\n', 'not-json'],
  ['a lone BOM', '\ufeff', 'not-json'],
  ['two BOMs', '\ufeff\ufeff{}', 'not-json'],
  ['UTF-16 without a BOM', Buffer.from('{"eventId":"a"}', 'utf16le'), 'not-json'],
  ['UTF-16 with a BOM', Buffer.from('\ufeff{"eventId":"a"}', 'utf16le'), 'not-utf8'],
  ['UTF-16, the other way round', Buffer.from('\ufeff{"eventId":"a"}', 'utf16le').swap16(), 'not-utf8'],
  ['UTF-32', Buffer.concat([...'{"a":1}'].map((c) => bytes(c.charCodeAt(0), 0, 0, 0))), 'not-json'],
  ['gzip', bytes(0x1f, 0x8b, 0x08, 0x00, 0x00), 'not-utf8'],
  ['Avro of a schema registry', bytes(0, 0, 0, 0, 7, 2, 97), 'not-json'],
  ['protocol buffers', bytes(0x0a, 0x03, 0x61, 0x62, 0x63), 'not-json'],
  ['500,000 lists that are never closed', '['.repeat(500_000), 'not-json'],
  ['100,000 objects that are never closed', '{"a":'.repeat(100_000), 'not-json'],
  ['no identifiers', '{}', 'event-id'],
  ['identifiers that are inherited', '{"__proto__":{"eventId":"a","eventType":"b"}}', 'event-id'],
  ['identifiers one level down', '{"event":{"eventId":"a","eventType":"b"}}', 'event-id'],
  ['names in other letters', '{"eventid":"a","EventType":"b"}', 'event-id'],
  ['names with a blank', '{"eventId ":"a"," eventType":"b"}', 'event-id'],
  ['an id first, and then again as null', '{"eventId":"a","eventType":"b","eventId":null}', 'event-id'],
  ['no type', event({ eventId: 'a' }), 'event-type'],
]

const rejectedAs = (
  code: RejectionCode,
  all: readonly (readonly [title: string, value: Buffer | string])[],
) => all.map(([title, value]): Malformed => ({ title, value: Buffer.from(value), code }))

/** At least 200 messages that are no event, each another. */
export const MALFORMED: readonly Malformed[] = [
  ...NO_JSON.flatMap((text) =>
    rejectedAs('not-json', [
      [`bare ${JSON.stringify(text)}`, text],
      [`an event with ${JSON.stringify(text)} in it`, around(text)],
    ]),
  ),
  ...NO_UTF8.flatMap(([title, value]) =>
    rejectedAs('not-utf8', [
      [title, value],
      [
        `an event with ${title} in a text`,
        around(Buffer.concat([Buffer.from('"'), value, Buffer.from('"')])),
      ],
    ]),
  ),
  ...NO_IDENTIFIERS.flatMap(([title, json]) => [
    ...rejectedAs('event-id', [[`an event id: ${title}`, `{"eventId":${json},"eventType":"claim.paid"}`]]),
    ...rejectedAs('event-type', [[`an event type: ${title}`, `{"eventId":"malformed","eventType":${json}}`]]),
  ]),
  ...OTHERS.flatMap(([title, value, code]) => rejectedAs(code, [[title, value]])),
]
