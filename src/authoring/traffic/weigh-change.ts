import type { RuleFacts } from '../../service/decide/decision/facts.ts'
import type { RulePromise } from '../../service/decide/rules/load-promises.ts'
import { firstMismatch } from '../../service/decide/rules/mismatch.ts'
import type { RuleTable } from '../../service/decide/rules/table.ts'
import { counted } from '../../service/text/count.ts'
import { changedRules, describeReach } from '../check/reach.ts'
import {
  type BeforeAfter,
  CHANGE_KINDS,
  classifyChange,
  decidedAlike,
  type RuleTableDiff,
} from '../diff/compare-tables.ts'
import { changeInWords } from '../diff/diff-text.ts'
import type { Traffic } from './traffic-sheet.ts'

/** Events of the past that would have another outcome, or another reason. */
interface WeighedChange extends BeforeAfter {
  count: number
  readonly events: Map<string, number>
  readonly facts: RuleFacts[]
}

/** What a change of the rule table would have done to the events of a period, in sentences; the gravest first. */
export interface TrafficEffect {
  readonly summary: string
  /** The most harmful kind first, within a kind the most frequent. */
  readonly changes: readonly string[]
  /** What the counts do not know, and rows without an event. */
  readonly notes: readonly string[]
}

const SHOWN_TYPES_MAX = 5
const DAY_MS = 86_400_000

/** Decides the events of a period by both tables. `nowMs` tells the age of the counts. */
export function weighChange(
  before: RuleTable,
  after: RuleTable,
  {
    diff,
    promises,
    nowMs,
  }: { readonly diff: RuleTableDiff; readonly promises: readonly RulePromise[]; readonly nowMs: number },
  traffic: Traffic,
): TrafficEffect {
  const changes = new Map<string, WeighedChange>()
  const used = new Set<string>()
  for (const { facts, count } of traffic.groups) {
    const results = { before: before.decide(facts), after: after.decide(facts) }
    used.add(results.after.ruleId)
    if (decidedAlike(results.before, results.after)) continue
    const key = JSON.stringify(results)
    const change: WeighedChange = changes.get(key) ?? { ...results, count: 0, events: new Map(), facts: [] }
    change.count += count
    change.events.set(facts.eventType, (change.events.get(facts.eventType) ?? 0) + count)
    change.facts.push(facts)
    changes.set(key, change)
  }
  const rank = (change: WeighedChange) => CHANGE_KINDS.indexOf(classifyChange(change))
  const ordered = [...changes.values()].sort(
    (one, other) => rank(one) - rank(other) || other.count - one.count,
  )
  return {
    summary: summarise(traffic, ordered),
    changes: ordered.map((change) => describeChange(change, promises)),
    notes: [
      ...describeReaches(before, after, traffic),
      ...describeUnused(after, used),
      ...describeUnknown(traffic, diff, nowMs),
    ],
  }
}

/** Example: "Of about 12,430 events in 30 days, 797 change: 785 no longer sent, 12 sent by another channel". */
function summarise(traffic: Traffic, changes: readonly WeighedChange[]): string {
  const kinds = CHANGE_KINDS.map((kind) => ({
    kind,
    count: sum(changes.filter((change) => classifyChange(change) === kind)),
  }))
  const told = kinds.filter(({ count }) => count > 0).map(({ kind, count }) => `${inDigits(count)} ${kind}`)
  const all = `Of about ${inDigits(sum(traffic.groups) + traffic.restCount)} events in ${counted(daysOf(traffic), 'day')}`
  return told.length === 0
    ? `${all}, none changes`
    : `${all}, ${inDigits(sum(changes))} change: ${told.join(', ')}`
}

/** Example: `785 from SEND by email to SKIP (muted) for invoice.paid (rule "email" before, rule "muted" now); promise: "…"`. */
function describeChange(change: WeighedChange, promises: readonly RulePromise[]): string {
  const types = [...change.events].sort(([, one], [, other]) => other - one)
  const named = types
    .slice(0, SHOWN_TYPES_MAX)
    .map(([eventType, count]) => (types.length === 1 ? eventType : `${eventType} (${inDigits(count)})`))
  const more = types.length - named.length
  const eventTypes = [...named, ...(more > 0 ? [counted(more, 'more type')] : [])].join(', ')
  const covering = promises.filter((promise) =>
    change.facts.some((facts) => firstMismatch(promise, facts) === null),
  )
  const guard = covering.map(({ name }) => `; promise: "${name}"`).join('')
  return `${inDigits(change.count)} ${changeInWords(change, eventTypes)}${guard}`
}

/** How many of the events that a changed rule describes it decides, if rows above take some. */
function describeReaches(before: RuleTable, after: RuleTable, { groups }: Traffic): string[] {
  return changedRules(before.rules, after.rules).flatMap((rule) => {
    const described = groups.filter(({ facts }) => firstMismatch(rule, facts) === null)
    const byTaker = Map.groupBy(described, ({ facts }) => after.decide(facts).ruleId)
    const decided = sum(byTaker.get(rule.id) ?? [])
    const takers = [...byTaker].flatMap(([id, some]) => (id === rule.id ? [] : [[id, sum(some)] as const]))
    const all = `${inDigits(sum(described))} events`
    return takers.length === 0 ? [] : [`Rule "${rule.id}" ${describeReach(decided, all, takers)}`]
  })
}

function describeUnused({ rules }: RuleTable, used: ReadonlySet<string>): string[] {
  const unused = rules.filter(({ id }) => !used.has(id)).map(({ id }) => `"${id}"`)
  return unused.length === 0 ? [] : [`Rules that would have decided none of them: ${unused.join(', ')}`]
}

function describeUnknown(traffic: Traffic, diff: RuleTableDiff, nowMs: number): string[] {
  const seen = new Set(traffic.groups.map(({ facts }) => facts.eventType))
  const changed = new Set(
    diff.changes.flatMap(({ eventClasses }) => eventClasses.map(({ representative }) => representative)),
  )
  const named = diff.classes
    .filter(({ representative }) => changed.has(representative))
    .flatMap(({ members }) => members)
  const unseen = named.filter((member) => !member.includes(' ') && !seen.has(member))
  const age = Math.floor((nowMs - Date.parse(traffic.lastDay)) / DAY_MS)
  return [
    `Counted from ${traffic.firstDay} to ${traffic.lastDay}, ${counted(age, 'day')} ago: \`rules traffic\` counts again`,
    ...(traffic.restCount > 0
      ? [`${inDigits(traffic.restCount)} of them, in small groups, are not decided again`]
      : []),
    ...(unseen.length > 0 ? [`Types that did not come in this time: ${unseen.join(', ')}`] : []),
  ]
}

function daysOf({ firstDay, lastDay }: Traffic): number {
  return Math.round((Date.parse(lastDay) - Date.parse(firstDay)) / DAY_MS) + 1
}

function sum(some: readonly { readonly count: number }[]): number {
  return some.reduce((total, { count }) => total + count, 0)
}

function inDigits(count: number): string {
  return count.toLocaleString('en')
}
