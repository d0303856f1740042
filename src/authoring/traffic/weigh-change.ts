import type { RuleFacts } from '../../service/decide/decision/facts.ts'
import { nameOfChannel } from '../../service/decide/party/channel.ts'
import type { RulePromise } from '../../service/decide/rules/load-promises.ts'
import { firstMismatch } from '../../service/decide/rules/mismatch.ts'
import type { RuleTable } from '../../service/decide/rules/table.ts'
import { counted } from '../../service/text/count.ts'
import type { Fault } from '../../service/text/faults.ts'
import { changedRules, describeReach } from '../check/reach.ts'
import {
  type BeforeAfter,
  CHANGE_KINDS,
  type ChangeKind,
  classifyChange,
  decidedAlike,
  type RuleTableDiff,
} from '../diff/compare-tables.ts'
import { changeInWords } from '../diff/diff-text.ts'
import { readTraffic, type Traffic } from './traffic-sheet.ts'

/** Past events that would get another outcome or reason. */
interface WeighedChange extends BeforeAfter {
  count: number
  readonly events: Map<string, number>
  readonly facts: RuleFacts[]
}

/** Sentences about a period's events that another rule table would decide differently, gravest first. */
export interface TrafficEffect {
  readonly summary: string
  /** Most harmful kind first, then by frequency. */
  readonly changes: readonly string[]
  /** Event types without counts, and rows without an event. */
  readonly notes: readonly string[]
}

const SHOWN_TYPES_MAX = 5
/** Kinds of change that take messages from a channel. */
const TAKEN_KINDS: readonly ChangeKind[] = ['no longer sent', 'sent by another channel']
const DAY_MS = 86_400_000

/** Weighs a change by the text of `rules/traffic.csv`. `effect` is null if there is no such file, or no decision differs. */
export function weighByFile(
  text: string | null,
  tables: { readonly before: RuleTable; readonly after: RuleTable } | null,
  diff: RuleTableDiff | null,
  promises: readonly RulePromise[],
): { readonly effect: TrafficEffect | null; readonly faults: readonly Fault[] } {
  const { traffic, faults } = text === null ? { traffic: null, faults: [] } : readTraffic(text)
  if (traffic === null || tables === null || diff === null || diff.changes.length === 0)
    return { effect: null, faults }
  const effect = weighChange(tables.before, tables.after, { diff, promises, wallMs: Date.now() }, traffic)
  return { effect, faults }
}

/** The effect, with a note if its counts came with the change. */
export function withOrigin(
  effect: TrafficEffect | null,
  before: string | null,
  now: string | null,
): TrafficEffect | null {
  const [traffic, present] = [before, now].map((text) => (text === null ? null : readTraffic(text).traffic))
  if (effect === null || JSON.stringify(traffic) === JSON.stringify(present)) return effect
  const had = !traffic
    ? 'there was no rules/traffic.csv that can be read'
    : `rules/traffic.csv had about ${inDigits(countAll(traffic))} events`
  return { ...effect, notes: [`These counts came with the change: before, ${had}`, ...effect.notes] }
}

/** @internal Decides the events of a period by both tables. `wallMs` tells the age of the counts. */
export function weighChange(
  before: RuleTable,
  after: RuleTable,
  {
    diff,
    promises,
    wallMs,
  }: { readonly diff: RuleTableDiff; readonly promises: readonly RulePromise[]; readonly wallMs: number },
  traffic: Traffic,
): TrafficEffect {
  const changes = new Map<string, WeighedChange>()
  const used = new Set<string>()
  const remaining = new Map<string, Map<string, number>>()
  for (const { facts, count } of traffic.groups) {
    const results = { before: before.decide(facts), after: after.decide(facts) }
    used.add(results.after.ruleId)
    if (results.after.outcome === 'SEND') {
      const channels = remaining.get(facts.eventType) ?? new Map<string, number>()
      channels.set(results.after.channel, (channels.get(results.after.channel) ?? 0) + count)
      remaining.set(facts.eventType, channels)
    }
    if (decidedAlike(results.before, results.after)) continue
    // One sentence for all, since members who are not told may prefer different channels.
    const key = changeInWords(results, '')
    const change: WeighedChange = changes.get(key) ?? { ...results, count: 0, events: new Map(), facts: [] }
    change.count += count
    change.events.set(facts.eventType, (change.events.get(facts.eventType) ?? 0) + count)
    change.facts.push(facts)
    changes.set(key, change)
  }
  const rank = (change: WeighedChange) => CHANGE_KINDS.indexOf(classifyChange(change))
  const ordered = [...changes.values()].sort((a, b) => rank(a) - rank(b) || b.count - a.count)
  return {
    summary: summariseTraffic(traffic, ordered, listUnseen(traffic, diff)),
    changes: ordered.map((change) => describeWeighedChange(change, promises)),
    notes: [
      ...describeRemaining(ordered, remaining, traffic),
      ...describeReaches(before, after, traffic),
      ...describeUnused(after, used, traffic),
      ...describeUnknown(traffic, diff, wallMs),
    ],
  }
}

/** Example: "Of about 12,430 events in 30 days, 797 change: 785 no longer sent, 12 sent by another channel". */
function summariseTraffic(
  traffic: Traffic,
  changes: readonly WeighedChange[],
  unseen: readonly string[],
): string {
  const kinds = CHANGE_KINDS.map((kind) => ({
    kind,
    count: sum(changes.filter((change) => classifyChange(change) === kind)),
  }))
  const effects = kinds
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => `${inDigits(count)} ${kind}`)
  const beginning = `Of about ${inDigits(countAll(traffic))} events in ${counted(countDays(traffic), 'day')}`
  if (effects.length === 0) {
    const unless = unlessInRest(traffic)
    return unseen.length === 0
      ? `${beginning}, none changes${unless}`
      : `${beginning}, none was of ${unseen.join(', ')}${unless}, and no other changes`
  }
  return `${beginning}, ${inDigits(sum(changes))} change: ${effects.join(', ')}`
}

/**
 * Sentences about the messages that remain for types that lose messages or change channel: a rule that mutes or redirects a type
 * may miss members with another preferred channel or without such an address.
 */
function describeRemaining(
  changes: readonly WeighedChange[],
  remaining: ReadonlyMap<string, ReadonlyMap<string, number>>,
  traffic: Traffic,
): string[] {
  const meant = changes.filter((change) => TAKEN_KINDS.includes(classifyChange(change)))
  const types = new Set(meant.flatMap(({ events }) => [...events.keys()]))
  if (types.size === 0) return []
  const byChannel = new Map<string, number>()
  for (const type of types)
    for (const [channel, count] of remaining.get(type) ?? [])
      byChannel.set(channel, (byChannel.get(channel) ?? 0) + count)
  const counts = [...byChannel].map(([channel, count]) => `${inDigits(count)} by ${nameOfChannel(channel)}`)
  const what = types.size > SHOWN_TYPES_MAX ? `these ${types.size} types` : [...types].join(', ')
  return [`Still sent of ${what}: ${counts.join(', ') || `none${unlessInRest(traffic)}`}`]
}

/** Example: `785 from SEND by email to SKIP (muted) for invoice.paid (rule "email" before, rule "muted" now); promise: "…"`. */
function describeWeighedChange(change: WeighedChange, promises: readonly RulePromise[]): string {
  const types = [...change.events].sort(([, a], [, b]) => b - a)
  const named = types
    .slice(0, SHOWN_TYPES_MAX)
    .map(([eventType, count]) => (types.length === 1 ? eventType : `${eventType} (${inDigits(count)})`))
  const more = types.length - named.length
  const eventTypes = [...named, ...(more > 0 ? [counted(more, 'more type')] : [])].join(', ')
  // A promise that covers a part of the events proves nothing about the change.
  const covering = promises.filter((promise) =>
    change.facts.every((facts) => firstMismatch(promise, facts) === null),
  )
  const guard = covering.map(({ name }) => `; promise: "${name}"`).join('')
  return `${inDigits(change.count)} ${changeInWords(change, eventTypes)}${guard}`
}

/** The share of described events that a changed rule decides, if rows above decide some. */
function describeReaches(before: RuleTable, after: RuleTable, { groups }: Traffic): string[] {
  return changedRules(before.rules, after.rules).flatMap((rule) => {
    const described = groups.filter(({ facts }) => firstMismatch(rule, facts) === null)
    const byTaker = Map.groupBy(described, ({ facts }) => after.decide(facts).ruleId)
    const decided = sum(byTaker.get(rule.id) ?? [])
    const takers = [...byTaker].flatMap(([id, groups]) =>
      id === rule.id ? [] : [[id, sum(groups)] as const],
    )
    const total = `${inDigits(sum(described))} events`
    return takers.length === 0 ? [] : [`Rule "${rule.id}" ${describeReach(decided, total, takers)}`]
  })
}

function describeUnused({ rules }: RuleTable, used: ReadonlySet<string>, traffic: Traffic): string[] {
  const unused = rules.filter(({ id }) => !used.has(id)).map(({ id }) => `"${id}"`)
  if (unused.length === 0) return []
  return [`Rules that would have decided none of them${unlessInRest(traffic)}: ${unused.join(', ')}`]
}

/** The facts and types of the remaining events are unknown. */
function unlessInRest({ restCount }: Traffic): string {
  return restCount === 0 ? '' : ', unless in a small group'
}

/** Event types named by a change for which no event came. */
function listUnseen(traffic: Traffic, diff: RuleTableDiff): string[] {
  const seen = new Set(traffic.groups.map(({ facts }) => facts.eventType))
  const changed = new Set(
    diff.changes.flatMap(({ eventClasses }) => eventClasses.map(({ representative }) => representative)),
  )
  const named = diff.classes
    .filter(({ representative }) => changed.has(representative))
    .flatMap(({ members }) => members)
  return named.filter((member) => !member.includes(' ') && !seen.has(member))
}

function describeUnknown(traffic: Traffic, diff: RuleTableDiff, wallMs: number): string[] {
  const unseen = listUnseen(traffic, diff)
  const ageDays = Math.floor((wallMs - Date.parse(traffic.lastDay)) / DAY_MS)
  return [
    `Counted from ${traffic.firstDay} to ${traffic.lastDay}, ${counted(ageDays, 'day')} ago: \`rules traffic\` counts again`,
    ...(traffic.restCount > 0
      ? [`${inDigits(traffic.restCount)} of them, in small groups, are not decided again`]
      : []),
    ...(unseen.length > 0
      ? [`Types that did not come in this time${unlessInRest(traffic)}: ${unseen.join(', ')}`]
      : []),
  ]
}

function countDays({ firstDay, lastDay }: Traffic): number {
  return Math.round((Date.parse(lastDay) - Date.parse(firstDay)) / DAY_MS) + 1
}

function countAll({ groups, restCount }: Traffic): number {
  return sum(groups) + restCount
}

function sum(groups: readonly { readonly count: number }[]): number {
  return groups.reduce((total, { count }) => total + count, 0)
}

function inDigits(count: number): string {
  return count.toLocaleString('en')
}
