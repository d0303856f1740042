import type { EnvelopeMap, Field } from '../../src/service/decide/event/envelope-map.ts'

/** A message that has these values where the map looks first. */
export function messageByMap(
  { value: form, ...places }: EnvelopeMap,
  values: { readonly [F in Field]?: string },
) {
  const headers: Record<string, string> = {}
  const json: Record<string, unknown> = {}
  for (const [field, [place]] of Object.entries(places)) {
    const value = values[field as Field]
    if (place === undefined || value === undefined) continue
    if ('header' in place) headers[place.header] = value
    else {
      const whole = place.pointer.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
      merge(json, whole as typeof json)
    }
  }
  const text = JSON.stringify(json)
  if (form === 'json-in-string') return { headers, value: JSON.stringify(text) }
  return { headers, value: form === 'json' ? text : Buffer.concat([Buffer.alloc(5), Buffer.from(text)]) }
}

function merge(json: Record<string, unknown>, other: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(other)) {
    if (name in json) merge(json[name] as typeof json, value as typeof json)
    else json[name] = value
  }
}
