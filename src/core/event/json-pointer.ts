import { didYouMean } from '../text/nearest.ts'

/** A JSON Pointer (RFC 6901) as its tokens, unescaped. */
export type Pointer = readonly string[]

/** `length` is an own property of an array, but no element. */
const ARRAY_INDEX = /^(?:0|[1-9][0-9]*)$/

/** What is wrong with a JSON Pointer to a field; null where nothing is. */
export function pointerFault(pointer: unknown): string | null {
  if (typeof pointer !== 'string') return `${JSON.stringify(pointer)} is not a string`
  if (!pointer.startsWith('/'))
    return `"${pointer}" is not a JSON Pointer to a field: it must start with "/"${didYouMean(asPointer(pointer))}`
  if (/~(?![01])/.test(pointer)) {
    return `"${pointer}" is not a JSON Pointer: write "~0" for "~" and "~1" for "/" within a name`
  }
  return null
}

/** The pointer meant by a plain path, a JSONPath or a URI fragment, such as payload.reason, $.payload.reason, #/reason. */
function asPointer(text: string): string | null {
  const path = text.replace(/^[#$][./]?/, '')
  const names = path.includes('/') ? path.split('/') : path.split('.')
  return names.every((name) => /^[\w-]+$/.test(name)) ? `/${names.join('/')}` : null
}

/** The tokens of a pointer that is valid and points to a field. */
export function parsePointer(pointer: string): Pointer {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The pointer as it is written. */
export function pointerText(pointer: Pointer): string {
  return pointer.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Whatever value is there, undefined where nothing is. Looks at own properties only and never throws. */
export function valueAt(json: object, pointer: Pointer): unknown {
  let value: unknown = json
  for (const token of pointer) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) return undefined
    if (Array.isArray(value) && !ARRAY_INDEX.test(token)) return undefined
    value = (value as Record<string, unknown>)[token]
  }
  return value
}

/**
 * The source text of a value that is there, such as `1.10`, which JSON.parse makes 1.1. `jsonText` is valid JSON. A
 * reviver would be given the text too, but it visits every value, and overflows the stack where JSON.parse does not.
 */
export function sourceAt(jsonText: string, pointer: Pointer): string {
  let start = skipSpace(jsonText, 0)
  for (const token of pointer) {
    start =
      jsonText[start] === '[' ? elementAt(jsonText, start, Number(token)) : memberAt(jsonText, start, token)
  }
  return jsonText.slice(start, endOfValue(jsonText, start))
}

/** Where the value of a key begins in the object at `start`; of equal keys the last counts, as in JSON.parse. */
function memberAt(jsonText: string, start: number, key: string): number {
  let found = -1
  for (let at = skipSpace(jsonText, start + 1); jsonText[at] === '"'; ) {
    const keyEnd = endOfString(jsonText, at)
    const value = skipSpace(jsonText, skipSpace(jsonText, keyEnd) + 1)
    if (isKey(jsonText.slice(at, keyEnd), key)) found = value
    at = skipComma(jsonText, endOfValue(jsonText, value))
  }
  if (found === -1) throw new Error(`the JSON has no "${key}" there`)
  return found
}

function elementAt(jsonText: string, start: number, index: number): number {
  let at = skipSpace(jsonText, start + 1)
  for (let skipped = 0; skipped < index; skipped++) at = skipComma(jsonText, endOfValue(jsonText, at))
  return at
}

function isKey(quoted: string, key: string): boolean {
  return quoted.includes('\\') ? JSON.parse(quoted) === key : quoted.slice(1, -1) === key
}

/** Counts brackets instead of calling itself: JSON can be deeper than the stack. */
function endOfValue(jsonText: string, start: number): number {
  let at = start
  let depth = 0
  do {
    const char = jsonText[at]
    if (char === '"') at = endOfString(jsonText, at)
    else if (char === '{' || char === '[') {
      depth++
      at++
    } else if (char === '}' || char === ']') {
      depth--
      at++
    } else if (depth > 0) at++
    else at = endOfScalar(jsonText, at)
  } while (depth > 0)
  return at
}

function endOfString(jsonText: string, start: number): number {
  let at = start + 1
  while (jsonText[at] !== '"') at += jsonText[at] === '\\' ? 2 : 1
  return at + 1
}

/** Of a number, true, false or null. */
function endOfScalar(jsonText: string, start: number): number {
  let at = start
  while (at < jsonText.length && /[\w.+-]/.test(jsonText.charAt(at))) at++
  return at
}

function skipSpace(jsonText: string, start: number): number {
  let at = start
  while (' \t\n\r'.includes(jsonText[at] ?? 'end')) at++
  return at
}

/** Behind a value and the comma after it, if there is one. */
function skipComma(jsonText: string, start: number): number {
  const at = skipSpace(jsonText, start)
  return jsonText[at] === ',' ? skipSpace(jsonText, at + 1) : at
}
