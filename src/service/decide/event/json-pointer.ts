import { didYouMean } from '../../text/nearest.ts'

/** A JSON Pointer (RFC 6901) as its tokens, unescaped. */
export type Pointer = readonly string[]

/** An array's `length` is an own property, but no element. */
const ARRAY_INDEX = /^(?:0|[1-9][0-9]*)$/

export function pointerFault(pointer: unknown): string | null {
  if (typeof pointer !== 'string') return `${JSON.stringify(pointer)} is not a string`
  if (!pointer.startsWith('/'))
    return `"${pointer}" is not a JSON Pointer to a field: it must start with "/"${didYouMean(asPointer(pointer))}`
  if (/~(?![01])/.test(pointer)) {
    return `"${pointer}" is not a JSON Pointer: write "~0" for "~" and "~1" for "/" within a name`
  }
  return null
}

/** Converts a plain path, a JSONPath or a URI fragment to a pointer: payload.reason, $.payload.reason, #/reason. */
function asPointer(text: string): string | null {
  const path = text.replace(/^[#$][./]?/, '')
  const names = path.includes('/') ? path.split('/') : path.split('.')
  return names.every((name) => /^[\w-]+$/.test(name)) ? `/${names.join('/')}` : null
}

export function parsePointer(pointer: string): Pointer {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

export function pointerText(pointer: Pointer): string {
  return pointer.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Returns the value at the pointer, or undefined. Looks at own properties only. Never throws. */
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
 * The digits of a number as sent, such as `1.10`, which JSON.parse makes 1.1. `jsonText` must be valid JSON. Null if it is too
 * deep for a reviver (about 2,000 levels), or if there is no number.
 */
export function digitsAt(jsonText: string, pointer: Pointer): string | null {
  try {
    const json: object = JSON.parse(jsonText, keepDigits as Parameters<typeof JSON.parse>[1])
    const number = valueAt(json, pointer) as { readonly digits?: string } | undefined
    return number?.digits ?? null
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** TypeScript does not know the third argument yet. */
function keepDigits(_key: string, value: unknown, { source }: { readonly source: string }): unknown {
  return typeof value === 'number' ? { digits: source } : value
}
