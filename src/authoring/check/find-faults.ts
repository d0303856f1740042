import { cellText, FACT_LIST, type Situation } from '../../service/decide/decision/facts.ts'
import { nameOfChannel } from '../../service/decide/party/channel.ts'
import { describeClasses, type EventClass } from '../../service/decide/rules/event-classes.ts'
import type { Enumeration } from '../../service/decide/rules/first-match.ts'
import { covers, findWrongSend, listGaps, listNeverApplying } from '../../service/decide/rules/judge-rules.ts'
import type { Rule } from '../../service/decide/rules/rule.ts'
import { describeSituation } from '../../service/decide/rules/situations.ts'
import { listSome } from '../../service/text/count.ts'
import { type Fault, wholeFault } from '../../service/text/faults.ts'
import { createRemedies, type FindWrong } from './find-remedy.ts'
import { describePlaces } from './reach.ts'

/** Limit for the rules or event types named in a fault, so that it stays one line. */
const NAMED_COUNT_MAX = 8

/**
 * Reasons to refuse these rules: a situation without a rule, a SEND to nobody, a rule that never applies. Faults of one rule are
 * merged if one change mends them.
 */
export function findFaults(
  enumeration: Enumeration,
  findRemedy: (rule: Rule) => string | null = createRemedies(
    enumeration.rules,
    enumeration.answers,
    findWrongSend,
  ),
  findWrong: FindWrong = findWrongSend,
): Fault[] {
  const { classes, answers } = enumeration
  const uncovered = listGaps(enumeration)
  const wrong = answers.flatMap((answer) => {
    const found = answer.rule && findWrongSend(answer.rule, answer)
    return answer.rule === null || found === null ? [] : [{ ...answer, rule: answer.rule, ...found }]
  })
  const byCause = Map.groupBy(wrong, ({ rule, words }) => `${rule.row} ${words}`)
  const sends = [...byCause.values()].map((cases): RuleFault => {
    const [{ rule, words, cell }] = cases as [(typeof wrong)[0]]
    return {
      rule,
      row: rule.row,
      text: `${words}: ${summariseCases(cases, classes)}`,
      end: `. It needs ${cell.words}.`,
    }
  })
  const [hidden, contradictory] = neverApplying(enumeration, findWrong)
  const faultsByRule = Map.groupBy([...sends, ...hidden], ({ rule }) => rule)
  return [
    ...(uncovered.length === 0 ? [] : [wholeFault(`no rule covers: ${summariseCases(uncovered, classes)}`)]),
    ...[...faultsByRule].flatMap(([rule, faults]) => mergeFaults(rule, faults, findRemedy(rule))),
    ...contradictory,
  ]
}

/** A fault of a rule, shown at this row. `end` follows the text if no single change mends the rule. */
interface RuleFault {
  readonly rule: Rule
  readonly row: number
  readonly text: string
  readonly end: string
  /** Another remedy, appended to the one found. */
  readonly orElse?: string
}

function mergeFaults({ id, row }: Rule, faults: readonly RuleFault[], remedy: string | null): Fault[] {
  if (remedy !== null && faults.length > 1) {
    const text = `rule "${id}" makes ${faults.length} faults, which one change mends: ${remedy}`
    return [{ row, column: null, text, lines: faults.map((fault) => fault.text) }]
  }
  return faults.map((fault) => ({
    row: fault.row,
    column: null,
    text: remedy === null ? `${fault.text}${fault.end}` : `${fault.text}: ${remedy}${fault.orElse ?? ''}`,
  }))
}

/** The rules that never apply: hidden ones, with the first rule that hides them, and contradictory ones. */
function neverApplying(
  enumeration: Enumeration,
  findWrong: FindWrong,
): [hidden: RuleFault[], contradictory: Fault[]] {
  const { rules, answers } = enumeration
  const dead = listNeverApplying(enumeration).map((rule) => {
    const covered = answers.filter((answer) => covers(rule, answer))
    const hiders = rules.filter((other) => covered.some((answer) => answer.rule === other))
    return { rule, covered, hiders }
  })
  const contradictory = dead
    .filter(({ hiders }) => hiders.length === 0)
    .map(({ rule }) => ({
      row: rule.row,
      column: null,
      text: `rule "${rule.id}" can never apply: ${contradictionIn(rule)}`,
    }))
  const byHiders = Map.groupBy(
    dead.filter(({ hiders }) => hiders.length > 0),
    ({ rule, hiders }) => (hiders.length === 1 ? `below ${hiders[0]?.row}` : `${rule.row}`),
  )
  const hidden = [...byHiders.values()].map((group): RuleFault => {
    const [{ rule, covered, hiders }] = group as [(typeof dead)[0]]
    const [first, last] = [hiders[0], hiders.at(-1)] as [Rule, Rule]
    const isSound = answers.every((answer) => answer.rule !== first || findWrong(first, answer) === null)
    // A rule that mutes a type for everyone is not meant to have exceptions.
    const orDelete = (hidden: string) => (isSound ? `, or delete ${hidden}` : '')
    if (group.length > 1) {
      const names = group.map((fault) => `"${fault.rule.id}"`)
      const never = `rules ${listSome(names, NAMED_COUNT_MAX)} can never apply`
      return {
        rule: first,
        row: first.row,
        text: `${never}: rule "${first.id}" above decides all of it`,
        end: ': fill in more of its cells, or delete it',
        orElse: orDelete('those that never apply'),
      }
    }
    const above =
      hiders.length === 1
        ? `rule "${first.id}" (row ${first.row}) above decides`
        : `${hiders.length} rules above, "${first.id}" (row ${first.row}) to "${last.id}" (row ${last.row}), decide`
    const text = `rule "${rule.id}" can never apply: ${above} all of it`
    return {
      rule: hiders.length === 1 ? first : rule,
      row: rule.row,
      text,
      end: `: ${describePlaces(rule, covered, enumeration, findWrong)}`,
      orElse: hiders.length === 1 ? orDelete(`rule "${rule.id}"`) : '',
    }
  })
  return [hidden, contradictory]
}

/** A rule that can never match, because it tests a fact that is unknown for its party state. */
function contradictionIn({ when: { party, ...when } }: Rule): string {
  const [asked] = FACT_LIST.filter(
    ([key, { knownFor, whereUnknown }]) =>
      key !== 'party' &&
      party &&
      !knownFor.includes(party) &&
      when[key] !== null &&
      when[key] !== whereUnknown,
  )
  return `"${asked?.[1].column}" is always ${nameOfChannel(cellText(asked?.[1].whereUnknown))} where "party" is ${party}`
}

/** Example: `13 situations (every event type), such as party missing`. */
export function summariseCases(
  cases: readonly { readonly eventClass: EventClass; readonly situation: Situation }[],
  classes: readonly EventClass[],
): string {
  const situations = [...new Set(cases.map(({ situation }) => describeSituation(situation)))]
  const types = describeClasses(
    [...new Set(cases.map(({ eventClass }) => eventClass))],
    classes,
    NAMED_COUNT_MAX,
  )
  return situations.length === 1
    ? `${situations[0]} (${types})`
    : `${situations.length} situations (${types}), such as ${situations[0]}`
}
