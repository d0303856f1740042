import type { ExplainedLogEntry, RecordedLogEntry } from '../../model/log/log-entry.ts'
import { describeGivenUp, nameOfAttempt } from '../../model/log/status.ts'
import { printable } from '../../text/sanitize.ts'
import {
  UNKNOWN_CHANNEL_RULE_ID,
  UNKNOWN_FACT_RULE_ID,
  UNREADABLE_OPT_OUTS_RULE_ID,
} from '../decision/decide.ts'
import type { ExplainedDecision, FollowedChange, RecordedDecision } from '../decision/recorded-decision.ts'
import { describeResult } from '../decision/result.ts'
import { PRUNED_RULE_ID } from '../decision/skip-pruned.ts'
import { loadStoredMaps, mapOf, sourceText } from '../event/envelope-map.ts'
import type { RulesByRevision } from '../rules/archived-rules.ts'
import { mismatchesAbove } from '../rules/mismatch.ts'
import type { PastRule } from '../rules/rule.ts'
import { describeSituation } from '../rules/situations.ts'
import { tellStory } from './why-told-or-not.ts'

/** Explains each decision by the rules of its time. `traceUrl` is a trace's web page, with `{traceId}` in it. */
export function explain(
  { nextRetry, ...entry }: RecordedLogEntry,
  rulesOf: RulesByRevision,
  traceUrl: string | null = null,
): ExplainedLogEntry {
  const last = entry.decisions.at(-1)
  const decisions = entry.decisions.map((decision) => {
    const rules = rulesOf.get(decision.ruleTableRevision) ?? 'its rule table was not read'
    const explained = explainDecision(decision, rules, traceUrl)
    if (!entry.givenUp || decision !== last) return explained
    return { ...explained, why: `${explained.why} It was ${describeGivenUp(entry)}.` }
  })
  return { ...entry, story: tellStory({ ...entry, decisions, nextRetry }), decisions }
}

/** `rules`: those of the decision's revision, or the reason why they are unknown. */
function explainDecision(
  { envelopeMap, ...recorded }: RecordedDecision,
  rules: readonly PastRule[] | string,
  traceUrl: string | null,
): ExplainedDecision {
  const decision = {
    ...recorded,
    readFrom: readPlaces(envelopeMap, recorded.topic),
    traceUrl: recorded.traceId && (traceUrl?.replaceAll('{traceId}', recorded.traceId) ?? null),
  }
  const unexplained = (why: string) => ({ ...decision, why, because: null, rulesAbove: [] })
  if (typeof rules === 'string') return unexplained(`${whatAndFor(decision)} (${rules}).`)
  if (decision.ruleId === PRUNED_RULE_ID)
    return unexplained(
      `${describeResult(decision)}, whatever the rules say: its row may have been pruned, and a member is told only once.`,
    )
  if (decision.ruleId === UNKNOWN_CHANNEL_RULE_ID)
    return unexplained(`${whatAndFor(decision)}: the rules depend on the channel.`)
  if (decision.ruleId === UNKNOWN_FACT_RULE_ID)
    return unexplained(`${whatAndFor(decision)}: the rules depend on that fact.`)
  if (decision.ruleId === UNREADABLE_OPT_OUTS_RULE_ID)
    return unexplained(`${whatAndFor(decision)}: the member may have opted out.`)
  const index = rules.findIndex(({ id }) => id === decision.ruleId)
  const rule = rules[index]
  if (rule === undefined)
    return unexplained(`${whatAndFor(decision)} (the rule table then in force has no such rule).`)
  return {
    ...decision,
    why: `${whatAndFor(decision)}: ${rule.because}`,
    because: rule.because,
    rulesAbove: mismatchesAbove(rules, index, decision.facts),
  }
}

function readPlaces(envelopeMap: string | null, topic: string): ExplainedDecision['readFrom'] {
  const maps = envelopeMap === null ? null : loadStoredMaps(envelopeMap)
  if (maps === null) return null
  const { partyLocator, locator, reason } = mapOf(maps, topic)
  return {
    partyLocator: sourceText(partyLocator),
    locator: sourceText(locator),
    reason: sourceText(reason),
  }
}

/** Example: `SKIP (event type opted out) by rule "opted-out", for claim.paid, party found, opted out on …`. */
function whatAndFor(decision: Omit<RecordedDecision, 'envelopeMap'>): string {
  const { attempt, facts, sendError, preferenceChange } = decision
  // A decision to send with attempt 0 means a deferred message.
  const failure = attempt === 0 ? 'not tried' : 'not confirmed by the sender'
  const sent = sendError === null ? '' : `, ${failure} (${sendError}),`
  const known = preferenceChange === null ? describeSituation(facts) : withChange(facts, preferenceChange)
  return `${describeResult(decision)}${sent} by rule "${decision.ruleId}", for ${facts.eventType}, ${known}`
}

/** The situation in words, with the change that set the preferences. */
function withChange(
  facts: RecordedDecision['facts'],
  { changedAt, changedBy, optedOutAt }: FollowedChange,
): string {
  if (facts.optedOut === true && optedOutAt !== null)
    return describeSituation(facts, { optedOut: `opted out on ${optedOutAt}` })
  const by = changedBy === null ? '' : ` by ${changedBy}`
  return `${describeSituation(facts)}, preferences of ${changedAt}${by}`
}

/** An explained entry in lines for a terminal: the event's result, then each attempt with its reasons. */
export function describeEntry(entry: ExplainedLogEntry): string[] {
  const party = entry.partyLocator === null ? 'nobody' : entry.partyLocator
  const reason = entry.failureReason === null ? '' : ` (${entry.failureReason})`
  return [
    `${entry.locator} is ${entry.status}${entry.givenUp ? `, ${describeGivenUp(entry)}` : ''}${reason}: ${entry.eventType} for ${party}, event ${entry.eventId}`,
    entry.story.what,
    ...(entry.story.because === null ? [] : [`Why: ${entry.story.because}`]),
    `Next: ${entry.story.next}`,
    ...entry.decisions.flatMap(describeDecision),
    ...(entry.decisions.length === 0 ? ['No recorded decision explains this entry.'] : []),
  ].map(printable)
}

function describeDecision(decision: ExplainedDecision, index: number): string[] {
  const { retry, receipt, erasedAt, readFrom, traceId } = decision
  const { templateRevision, envelopeMapRevision } = decision
  return [
    '',
    `${decision.decidedAt}, ${nameOfAttempt(index)}: ${decision.why}`,
    retry && `  retried by ${retry.by}: ${retry.because}`,
    erasedAt && `  its text was erased on ${erasedAt}`,
    ...decision.rulesAbove.map(({ ruleId, mismatch }) => `  not by rule "${ruleId}": ${mismatch}`),
    receipt && `  receipt: ${receipt}`,
    `  rule table ${decision.ruleTableRevision}`,
    templateRevision && `  template ${templateRevision}`,
    envelopeMapRevision && `  envelope map ${envelopeMapRevision}`,
    readFrom &&
      `  read from the event: party locator at ${readFrom.partyLocator}, locator at ${readFrom.locator}, reason at ${readFrom.reason}`,
    `  from ${decision.topic}, partition ${decision.partition}, offset ${decision.offset}`,
    traceId && `  trace ${decision.traceUrl ?? traceId}`,
  ].filter((line) => line !== null)
}
