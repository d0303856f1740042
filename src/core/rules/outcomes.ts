import { describeResult } from '../decision/result.ts'
import { UNNAMED } from './event-classes.ts'
import { isPattern } from './event-type-cell.ts'
import type { Enumeration } from './first-match.ts'
import { resultOf } from './rule.ts'
import { describeSituation } from './situations.ts'

const ABOUT = `# What the rule table decides in every situation, as it was accepted: "make rules-accept" writes it.
# An event type has lines only where it differs from any other event type.`

/**
 * The outcome of every situation, as text: first any other event type, then a section for each event type. Empty sections are
 * kept, so that changes to two event types never conflict in a merge.
 */
export function listOutcomes(enumeration: Enumeration, knownEventTypes: readonly string[]): string {
  const { classes, situations, answers, positionOf } = enumeration
  const linesOf = (eventType: string) =>
    situations.map((situation) => {
      const rule = answers[positionOf({ eventType, ...situation })]?.rule
      const result = rule ? resultOf(rule, situation) : null
      const outcome = result === null ? 'undecided' : `${describeResult(result)}, rule "${result.ruleId}"`
      return `  ${describeSituation(situation)}: ${outcome}`
    })
  const named = classes.flatMap(({ members, representative }) =>
    members.map((name) => [name, representative] as const),
  )
  const representatives = new Map([...knownEventTypes.map((name) => [name, name] as const), ...named])
  const usual = linesOf(representatives.get(UNNAMED) as string)
  representatives.delete(UNNAMED)
  const sections = [...representatives.keys()].sort().map((name) => {
    const lines = linesOf(representatives.get(name) as string)
    return [name, ...lines.filter((line, position) => line !== usual[position])].join('\n')
  })
  return `${[ABOUT, [UNNAMED, ...usual].join('\n'), ...sections].join('\n\n')}\n`
}

/** The event types that have a section, which differ from the headings of all others. */
export function acceptedEventTypes(text: string): string[] {
  const headings = text.split(/\r\n|\n/).filter((line) => /^[^#\s]/.test(line))
  return headings.filter((heading) => heading !== UNNAMED && !isPattern(heading))
}

/** Lines in only one of two lists, each with its section. Empty sections make no difference. */
export function compareOutcomes(accepted: string, actual: string): { gone: string[]; fresh: string[] } {
  const [before, after] = [linesOf(accepted), linesOf(actual)]
  return {
    gone: before.filter((line) => !after.includes(line)),
    fresh: after.filter((line) => !before.includes(line)),
  }
}

/** Example: `claim.paid: party found, …: SEND by EMAIL, rule "email"`. */
function linesOf(text: string): string[] {
  let section = ''
  return text.split(/\r\n|\n/).flatMap((line) => {
    if (line.startsWith('  ')) return [`${section}: ${line.trim()}`]
    if (!line.startsWith('#')) section = line
    return []
  })
}
