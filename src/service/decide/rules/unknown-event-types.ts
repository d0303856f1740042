import type { Fault } from '../../text/faults.ts'
import { didYouMean, isSlip, nearestOnes } from '../../text/nearest.ts'
import type { Rule } from './rule.ts'

export interface EventTypesThatCame {
  /** Event types of recent events; null if unknown. */
  readonly seenEventTypes?: readonly string[] | null
  /** Some types of past events, from `rules/traffic.csv`. */
  readonly trafficTypes?: readonly string[]
}

/**
 * Event types in rules that have no template and, where `seenEventTypes` are known, no recent event: one fault or warning each,
 * with the nearest known types. A type one or two characters from one with a template is a fault, unless marked `exactly`: it
 * would mute or send something by mistake. For a type near to a family, such as `claim`, the family's wildcard is the nearest.
 * `trafficTypes`, some of those that came, are no reason for a warning; a fault stays one, since the service does not know them.
 */
export function findUnknownEventTypes(
  rules: readonly (Pick<Rule, 'row'> & { readonly when: Pick<Rule['when'], 'eventType'> })[],
  knownEventTypes: readonly string[],
  { seenEventTypes = null, trafficTypes = [] }: EventTypesThatCame = {},
): { readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] } {
  const seen = (seenEventTypes ?? []).filter((name) => !knownEventTypes.includes(name))
  const known = [...knownEventTypes, ...seen]
  const domains = known.flatMap((name) => /^(.+?)\./.exec(name)?.[1] ?? [])
  const families = [...new Set(domains.map((domain) => `${domain}.*`))]
  const unknown = rules.flatMap(({ row, when }) => {
    if (when.eventType === null) return []
    const { names, prefixes, exactly } = when.eventType
    const place = { row, column: 'event type' }
    const report = (value: string, choices: readonly string[], others: readonly string[]) => {
      const family = families.find((wildcard) => isSlip(value, wildcard.slice(0, -2)))
      const near = exactly.includes(value) ? [] : nearestOnes(value, choices)
      const event = seenEventTypes === null ? '' : ', and no event of the last 30 days has it'
      const text = (meant: readonly string[]) =>
        `there is no template for "${value}"${event}${didYouMean(meant)}`
      const isSlipOfTemplate = near.some((name) => !seen.includes(name) && isSlip(value, name))
      if (family === undefined && isSlipOfTemplate)
        return [
          { isFault: true, fault: { ...place, text: `${text(near)} If not, write "exactly ${value}".` } },
        ]
      if (others.includes(value)) return []
      const meant = exactly.includes(value)
        ? []
        : family === undefined
          ? nearestOnes(value, [...choices, ...others])
          : [family]
      return [{ isFault: false, fault: { ...place, text: text(meant) } }]
    }
    return [
      ...names.filter((name) => !known.includes(name)).flatMap((name) => report(name, known, trafficTypes)),
      ...prefixes
        .filter((prefix) => ![...known, ...trafficTypes].some((name) => name.startsWith(prefix)))
        .flatMap((prefix) => report(`${prefix}*`, families, [])),
    ]
  })
  return {
    faults: unknown.filter(({ isFault }) => isFault).map(({ fault }) => fault),
    warnings: unknown.filter(({ isFault }) => !isFault).map(({ fault }) => fault),
  }
}
