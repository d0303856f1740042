import type { Fault } from '../text/faults.ts'
import { didYouMean, isSlip, nearest } from '../text/nearest.ts'
import type { Rule } from './rule.ts'

/**
 * Event types in rules that have no template: one fault or warning each, with the nearest type that has one. A type
 * one or two characters from a known one is a fault, unless marked `exactly`: it would mute or send something by mistake. For a
 * type near to a family, such as `claim`, the family's wildcard is the nearest.
 */
export function findUnknownEventTypes(
  rules: readonly (Pick<Rule, 'row'> & { readonly when: Pick<Rule['when'], 'eventType'> })[],
  knownEventTypes: readonly string[],
): { readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] } {
  const domains = knownEventTypes.flatMap((name) => /^(.+?)\./.exec(name)?.[1] ?? [])
  const families = [...new Set(domains.map((domain) => `${domain}.*`))]
  const unknown = rules.flatMap(({ row, when }) => {
    if (when.eventType === null) return []
    const { names, prefixes, exactly } = when.eventType
    const place = { row, column: 'event type' }
    const tell = (value: string, choices: readonly string[]) => {
      const isMeant = exactly.includes(value)
      const family = families.find((one) => isSlip(value, one.slice(0, -2)))
      const meant = isMeant ? null : (family ?? nearest(value, choices))
      const text = `there is no template for "${value}"${didYouMean(meant)}`
      if (meant === null || family !== undefined || !isSlip(value, meant))
        return { isFault: false, fault: { ...place, text } }
      return { isFault: true, fault: { ...place, text: `${text} If not, write "exactly ${value}".` } }
    }
    return [
      ...names.filter((name) => !knownEventTypes.includes(name)).map((name) => tell(name, knownEventTypes)),
      ...prefixes
        .filter((prefix) => !knownEventTypes.some((name) => name.startsWith(prefix)))
        .map((prefix) => tell(`${prefix}*`, families)),
    ]
  })
  return {
    faults: unknown.filter(({ isFault }) => isFault).map(({ fault }) => fault),
    warnings: unknown.filter(({ isFault }) => !isFault).map(({ fault }) => fault),
  }
}
