import { decideRecorded, UNKNOWN_CHANNEL_RULE_ID } from '../../service/decide/decision/decide.ts'
import type { RecordedFacts } from '../../service/decide/decision/facts.ts'
import type { RecordedResult } from '../../service/decide/decision/result.ts'
import { CHANNELS, nameOfChannel } from '../../service/decide/party/channel.ts'
import { type RulesByRevision, readRules } from '../../service/decide/rules/archived-rules.ts'
import { NO_RULE } from '../../service/decide/rules/rule.ts'
import { describeSituation } from '../../service/decide/rules/situations.ts'
import type { RuleTable } from '../../service/decide/rules/table.ts'
import type { DecisionGroup, DecisionPage } from '../../service/model/decision-group.ts'
import { counted } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'
import { CHANGE_KINDS, classifyChange, decidedAlike } from '../diff/compare-tables.ts'
import { changeInWords } from '../diff/diff-text.ts'

/** Events of one type and situation that a candidate table decides differently. */
export interface BacktestChange {
  readonly eventType: string
  readonly facts: RecordedFacts
  readonly before: RecordedResult
  readonly after: RecordedResult
  count: number
  /** Locators of their log entries, up to a readable number. */
  readonly locators: string[]
}

export type BacktestResult = ReturnType<ReturnType<typeof createBacktest>['result']>

/** The reason that a rule of a revision gave; undefined if unknown. */
type ReasonOf = (ruleTableRevision: string, ruleId: string) => string | null | undefined

const SAMPLE_COUNT_MAX = 3
/** Limit for one change. */
export const LOCATOR_COUNT_MAX = 1_000
/** Limit for all changes together. */
const LOCATORS_HELD_MAX = 50_000
/** Anyone can invent event types: beyond this number, the others are counted as one. */
const EVENT_TYPE_COUNT_MAX = 1_000
const OTHER_EVENT_TYPES = '(other event types)'

export function createBacktest(candidate: Pick<RuleTable, 'decide'>, findReason: ReasonOf) {
  /**
   * `byAnotherRule`: unchanged decisions that another rule makes in the candidate. `invalidParties`: events with an invalid party
   * locator, whose reason does not change while they are skipped. `undecided`: events with facts of another version.
   */
  const counts = { events: 0, changed: 0, byAnotherRule: 0, invalidParties: 0, undecided: 0 }
  const changes = new Map<string, BacktestChange>()
  const lines = new Map<string, { eventType: string; ruleId: string; unchanged: number; changed: number }>()
  const channels = CHANNELS.map((channel: string) => ({ channel, before: 0, after: 0 }))
  const eventTypes = new Set<string>()
  let locatorsHeld = 0

  function boundedEventType(eventType: string): string {
    if (eventTypes.size < EVENT_TYPE_COUNT_MAX) eventTypes.add(eventType)
    return eventTypes.has(eventType) ? eventType : OTHER_EVENT_TYPES
  }

  function countSent(when: 'before' | 'after', { outcome, channel }: RecordedResult, count: number): void {
    if (outcome !== 'SEND') return
    const known = channels.find((one) => one.channel === channel)
    const sent = known ?? { channel, before: 0, after: 0 }
    if (known === undefined) channels.push(sent)
    sent[when] += count
  }

  return {
    /** Returns the change to which the group belongs; null if its events do not change. */
    add: (group: DecisionGroup): BacktestChange | null => {
      const { ruleId, count } = group
      counts.events += count
      const { facts, result: after } = decideAgain(candidate, group)
      if (after === null) {
        counts.undecided += count
        return null
      }
      const eventType = boundedEventType(facts.eventType)
      const before = recordedResult(group, after, findReason)
      countSent('before', before, count)
      countSent('after', after, count)
      const isChanged = !decidedAlike(before, after)
      if (isChanged) counts.changed += count
      else if (after.ruleId !== ruleId) counts.byAnotherRule += count
      if (group.isPartyInvalid) counts.invalidParties += count

      const line = findOrAdd(lines, [eventType, ruleId], { eventType, ruleId, unchanged: 0, changed: 0 })
      line[isChanged ? 'changed' : 'unchanged'] += count
      if (!isChanged) return null
      const fresh = { eventType, facts, before, after, count: 0, locators: [] }
      const change = findOrAdd(changes, [eventType, describeSituation(facts), before, after], fresh)
      change.count += count
      const room = Math.min(LOCATOR_COUNT_MAX - change.locators.length, LOCATORS_HELD_MAX - locatorsHeld)
      const some = group.locators.slice(0, room)
      locatorsHeld += some.length
      change.locators.push(...some)
      return change
    },
    result: () => ({
      ...counts,
      unchanged: counts.events - counts.changed - counts.undecided,
      /** Number of messages by each channel: sent, and sent under the candidate. */
      channels,
      /** The most harmful first; the most frequent first within a kind. */
      changes: [...changes.values()].sort((a, b) => rankChange(a) - rankChange(b) || b.count - a.count),
      lines: [...lines.values()].sort(
        (a, b) => compare(a.eventType, b.eventType) || compare(a.ruleId, b.ruleId),
      ),
    }),
  }
}

/** Reads the decisions of a period, and the rule tables that made them. */
export interface BacktestSource {
  /** The page at a cursor; null: the first one. */
  readonly readPage: (cursor: string | null) => Promise<DecisionPage>
  /** A rule table from the archive, or null. */
  readonly readRuleTable: (revision: string) => Promise<string | null>
}

/**
 * Decides all events of a period by a candidate table, page by page. `onProgress` gets the number of events so far, `onChange`
 * each group that is decided differently, with the cursor of its page.
 */
export async function runBacktest(
  candidate: Pick<RuleTable, 'decide'>,
  { readPage, readRuleTable }: BacktestSource,
  knownEventTypes: readonly string[],
  onProgress: (eventCount: number) => void,
  onChange: (change: BacktestChange, group: DecisionGroup, cursor: string | null) => void = () => {},
): Promise<BacktestResult> {
  let rules: RulesByRevision = new Map()
  const test = createBacktest(candidate, (revision, ruleId) => {
    const known = rules.get(revision)
    return typeof known === 'object' ? known.find(({ id }) => id === ruleId)?.reason : undefined
  })
  let seen = 0
  for (let next: string | null | undefined; next !== null; ) {
    const cursor: string | null = next ?? null
    const { events, groups, nextCursor } = await readPage(cursor)
    const unread = groups.filter(({ ruleTableRevision }) => !rules.has(ruleTableRevision))
    rules = new Map([...rules, ...(await readRules(unread, readRuleTable, knownEventTypes))])
    for (const group of groups) {
      const change = test.add(group)
      if (change !== null) onChange(change, group, cursor)
    }
    seen += events
    onProgress(seen)
    next = nextCursor
  }
  return test.result()
}

function rankChange(change: BacktestChange): number {
  return CHANGE_KINDS.indexOf(classifyChange(change))
}

/**
 * Decides these events again, attempt by attempt. A FAIL goes on to the next recorded attempt; so does a SEND whose sender
 * failed, and a SKIP that was retried on request. Returns the last decision with its facts; null if it depends on facts of
 * another version.
 */
function decideAgain(
  candidate: Pick<RuleTable, 'decide'>,
  { earlier, facts, onRequest }: Pick<DecisionGroup, 'earlier' | 'facts' | 'onRequest'>,
): { readonly facts: RecordedFacts; readonly result: RecordedResult | null } {
  for (const [i, step] of earlier.entries()) {
    const result = decideRecorded(candidate.decide, step.facts) ?? null
    const isRetried =
      result === null ||
      result.outcome === 'FAIL' ||
      (result.outcome === 'SEND' && step.outcome === 'SEND') ||
      (result.outcome === 'SKIP' && (earlier[i + 1]?.onRequest ?? onRequest))
    if (!isRetried) return { facts: step.facts, result }
  }
  return { facts, result: decideRecorded(candidate.decide, facts) ?? null }
}

/** The recorded decision with its rule's reason: the recorded one may also contain the look-up's error. */
function recordedResult(
  { ruleId, outcome, channel, ruleTableRevision, isPartyInvalid }: DecisionGroup,
  after: RecordedResult,
  findReason: ReasonOf,
): RecordedResult {
  const reasonIsFixed = isPartyInvalid && outcome === 'SKIP' && after.outcome === 'SKIP'
  const reasonOfRule = ruleId === UNKNOWN_CHANNEL_RULE_ID ? NO_RULE : findReason(ruleTableRevision, ruleId)
  const reason = reasonIsFixed ? undefined : reasonOfRule
  // Without both reasons a difference cannot be determined.
  return { ruleId, outcome, channel, reason: reason === undefined ? after.reason : reason }
}

/** The entry of a key; the fresh one if there is none yet. */
function findOrAdd<Entry>(entries: Map<string, Entry>, key: readonly unknown[], fresh: Entry): Entry {
  const text = JSON.stringify(key)
  const entry = entries.get(text) ?? fresh
  entries.set(text, entry)
  return entry
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The result in lines: the number of changed events, each kind of change with its situations, and counts by type and rule. */
export function describeBacktest(result: BacktestResult): string[] {
  const { events, changed, unchanged, byAnotherRule, invalidParties, undecided, channels, changes, lines } =
    result
  const told = [
    `${counted(events, 'event')}: ${counted(changed, 'changes', 'change')}, ${counted(unchanged, 'does', 'do')} not`,
  ]
  if (changed > 0) told.push(describeChannels(channels))
  if (byAnotherRule > 0) told.push(`${counted(byAnotherRule, 'event')} with the same result by another rule`)
  if (invalidParties > 0)
    told.push(`${counted(invalidParties, 'event')} with an invalid party locator, whose reason no table sets`)
  if (undecided > 0)
    told.push(`${counted(undecided, 'event')} with facts of another version, not decided again`)
  const kinds = Map.groupBy(changes, (change) => changeInWords(change, change.eventType))
  for (const [words, group] of kinds) {
    const count = group.reduce((sum, change) => sum + change.count, 0)
    told.push(`${counted(count, 'event')} ${count === 1 ? 'changes' : 'change'} ${words}:`)
    for (const { count, facts, locators } of group) {
      const some = locators.slice(0, SAMPLE_COUNT_MAX).join(', ')
      told.push(`    ${count}: ${describeSituation(facts)}, such as ${some}`)
    }
  }
  if (changed > 0) told.push('Where events change, by event type and rule, unchanged and changed:')
  for (const line of lines.filter((line) => line.changed > 0))
    told.push(`    ${line.eventType}, rule "${line.ruleId}": ${line.unchanged}, ${line.changed}`)
  return told.map(printable)
}

/** Example: "412 messages fewer by text message, 37 more by email". */
function describeChannels(channels: BacktestResult['channels']): string {
  const words = channels
    .map(({ channel, before, after }) => ({ channel, difference: after - before }))
    .filter(({ difference }) => difference !== 0)
    .sort((one, other) => one.difference - other.difference)
    .map(({ channel, difference }, index) => {
      const count = Math.abs(difference)
      const messages = index === 0 ? counted(count, 'message') : String(count)
      return `${messages} ${difference < 0 ? 'fewer' : 'more'} by ${nameOfChannel(channel)}`
    })
  return words.length === 0 ? 'As many messages by each channel as before' : words.join(', ')
}
