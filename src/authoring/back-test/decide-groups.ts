import { decideRecorded, UNKNOWN_CHANNEL_RULE_ID } from '../../service/decide/decision/decide.ts'
import type { RecordedFacts } from '../../service/decide/decision/facts.ts'
import type { RecordedResult } from '../../service/decide/decision/result.ts'
import { type RulesByRevision, readRules } from '../../service/decide/rules/archived-rules.ts'
import { NO_RULE } from '../../service/decide/rules/rule.ts'
import { describeSituation } from '../../service/decide/rules/situations.ts'
import type { RuleTable } from '../../service/decide/rules/table.ts'
import type { DecisionGroup, DecisionPage } from '../../service/model/decision-group.ts'
import { CHANGE_KINDS, classifyChange, decidedAlike } from '../diff/compare-tables.ts'

/** Events of one type and situation that a candidate table decides differently. */
export interface BacktestChange {
  readonly eventType: string
  readonly facts: RecordedFacts
  readonly before: RecordedResult
  readonly after: RecordedResult
  count: number
}

type BacktestResult = ReturnType<ReturnType<typeof createBacktest>['result']>

/** The reason of a past rule; undefined if unknown. */
type ReasonOf = (ruleTableRevision: string, ruleId: string) => string | null | undefined

/** Limit for event types, since anyone can invent some; all others are counted as one. */
const EVENT_TYPE_COUNT_MAX = 1_000
const OTHER_EVENT_TYPES = '(other event types)'

/** @internal Adds up groups of events, decided by a candidate table. */
export function createBacktest(candidate: Pick<RuleTable, 'decide'>, findReason: ReasonOf) {
  /**
   * `byAnotherRule`: unchanged decisions that another rule makes in the candidate. `undecided`: events with facts of another
   * version.
   */
  const counts = { events: 0, changed: 0, byAnotherRule: 0, undecided: 0 }
  const changes = new Map<string, BacktestChange>()
  const eventTypes = new Set<string>()

  function boundedEventType(eventType: string): string {
    if (eventTypes.size < EVENT_TYPE_COUNT_MAX) eventTypes.add(eventType)
    return eventTypes.has(eventType) ? eventType : OTHER_EVENT_TYPES
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
      if (decidedAlike(before, after)) {
        if (after.ruleId !== ruleId) counts.byAnotherRule += count
        return null
      }
      counts.changed += count
      const key = JSON.stringify([eventType, describeSituation(facts), before, after])
      const change = changes.get(key) ?? { eventType, facts, before, after, count: 0 }
      change.count += count
      changes.set(key, change)
      return change
    },
    result: () => ({
      ...counts,
      /** Most harmful kind first, then by frequency. */
      changes: [...changes.values()].sort((a, b) => rankChange(a) - rankChange(b) || b.count - a.count),
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
  onChange: (change: BacktestChange, group: DecisionGroup, cursor: string | null) => void,
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

/** The recorded decision with its rule's reason: the recorded reason may include the error of a look-up. */
function recordedResult(
  { ruleId, outcome, channel, ruleTableRevision, isPartyInvalid }: DecisionGroup,
  after: RecordedResult,
  findReason: ReasonOf,
): RecordedResult {
  const reasonIsFixed = isPartyInvalid && outcome === 'SKIP' && after.outcome === 'SKIP'
  const reasonOfRule = ruleId === UNKNOWN_CHANNEL_RULE_ID ? NO_RULE : findReason(ruleTableRevision, ruleId)
  const reason = reasonIsFixed ? undefined : reasonOfRule
  // A difference requires both reasons.
  return { ruleId, outcome, channel, reason: reason === undefined ? after.reason : reason }
}
