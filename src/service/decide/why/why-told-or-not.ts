import type {
  DecidedRow,
  ExplainedLogEntry,
  ListedLogEntry,
  RecordedLogEntry,
  Story,
} from '../../model/log/log-entry.ts'
import { describeGivenUp, toStatus } from '../../model/log/status.ts'
import { UNKNOWN_CHANNEL_RULE_ID, UNREADABLE_OPT_OUTS_RULE_ID } from '../decision/decide.ts'
import type { ExplainedDecision } from '../decision/recorded-decision.ts'
import { PRUNED_RULE_ID } from '../decision/skip-pruned.ts'
import { channelKind, isChannel, nameOfChannel, shownSubject } from '../party/channel.ts'
import type { RulesByRevision } from '../rules/archived-rules.ts'

type Entry = Omit<ExplainedLogEntry, 'story'> & Pick<RecordedLogEntry, 'nextRetry'>

/** The story of an entry. A reason appears once: the timeline leaves out the one in `because`. */
export function tellStory(entry: Entry): Story {
  return {
    what: describeWhat(entry),
    because: describeWhy(entry),
    next: describeNext(entry),
    timeline: listSteps(entry),
  }
}

/** Adds to each listed entry the reason why its member was not told, from the rules that decided. */
export function explainListed(rows: readonly DecidedRow[], rulesOf: RulesByRevision): ListedLogEntry[] {
  return rows.map(({ outcome, ruleId, ruleTableRevision, ...row }) => {
    const rules = rulesOf.get(ruleTableRevision ?? '')
    // The sentence of a SEND rule explains no failure.
    const isByRule = row.status !== 'SENT' && outcome !== null && toStatus(outcome) === row.status
    const rule = isByRule && typeof rules === 'object' ? rules.find(({ id }) => id === ruleId) : undefined
    return { ...row, because: rule?.because ?? null }
  })
}

function describeWhat(entry: Entry) {
  const { status, channel, partyLocator, eventType, reference, createdAt, sentAt } = entry
  const name = nameOfChannel(channel)
  const subject = shownSubject(channel, entry.subject)
  const about = reference === null || reference === partyLocator ? '' : ` about ${reference}`
  const message = `${subject === null ? name : `${name} “${subject}”`}${about}`
  const event = about === '' ? ` about ${eventType}` : `${about} (${eventType})`
  const processed = `The event was processed on ${createdAt}.`
  if (status === 'SENT') {
    const kind = channelKind(channel)
    const sent = entry.recordedOnly
      ? 'was recorded only: no transport is connected, so nothing was delivered'
      : `was ${sentBy(entry)}`
    return `On ${sentAt}, the ${message} for member ${partyLocator} ${kind?.address === null ? `was ${kind.stored}` : sent}.`
  }
  if (partyLocator === null) return `Nobody got a message${event}. ${processed}`
  if (status === 'SKIPPED') return `Member ${partyLocator} got no message${event}. ${processed}`
  const got = entry.givenUp ? 'got no message' : 'has had no message yet'
  return `Member ${partyLocator} ${got}${event}: the ${name} was not sent. ${processed}`
}

function describeWhy({ status, failureReason, decisions }: Entry): string | null {
  const last = decisions.at(-1)
  if (last === undefined) return 'No recorded decision explains this entry.'
  if (status === 'SENT') return last.because
  // The sentence of a SEND rule explains no failure.
  const isByRule = toStatus(last.outcome) === status
  if (isByRule && last.because !== null) return last.because
  return asSentence(status === 'FAILED' ? (describeReason(last) ?? last.why) : (failureReason ?? last.why))
}

function describeNext(entry: Entry): string {
  const { status, decisions, nextRetry } = entry
  const last = decisions.at(-1)
  if (status === 'SENT')
    return entry.recordedOnly
      ? 'Nothing. It is not delivered later, even if a transport is connected.'
      : 'This message is done.'
  const remedy = explainRemedy(entry)
  if (entry.givenUp) return `It is tried again only on request: it was ${describeGivenUp(entry)}.${remedy}`
  if (status === 'SKIPPED') {
    const isErased = decisions.some(({ erasedAt }) => erasedAt !== null)
    if (isErased || last?.ruleId === PRUNED_RULE_ID) return 'Nothing. It can no longer be sent.'
    if (!last?.facts.optedOut) return 'It is sent only if a retry is requested.'
    const at = last.preferenceChange?.optedOutAt ?? null
    return `Nothing. The member opted out${at === null ? '' : ` on ${at}`}.`
  }
  if (nextRetry === null) return 'Nothing. It is not tried again.'
  if (nextRetry.isHeld)
    return `It will be tried again once messages are resumed, unless it is too old by then.${remedy}`
  if (!nextRetry.isOverdue) return `It will be tried again at about ${nextRetry.at}.${remedy}`
  if (remedy !== '') return `It will be tried again until it is given up.${remedy}`
  return 'It will be tried again, but it is late: retries wait while policy administration or the service is down.'
}

/** The sentence about a failed entry that only another version or rule table can send; empty for any other. */
function explainRemedy({ channel, decisions }: Entry): string {
  const ruleId = decisions.at(-1)?.ruleId
  const isUnreadable = ruleId === UNREADABLE_OPT_OUTS_RULE_ID
  if (isChannel(channel) && !isUnreadable)
    return ruleId === UNKNOWN_CHANNEL_RULE_ID
      ? ` The rule table does not name the channel ${channel}. A table that does can send the message while it is retried.`
      : ''
  const unknown = isUnreadable ? "the form of the member's opt-outs" : `the channel ${channel}`
  return ` This version of the service does not know ${unknown}. A version that does can send the message while it is retried.`
}

function listSteps(entry: Entry): Story['timeline'] {
  const { eventType, createdAt, decisions } = entry
  const moments = new Map<string, Story['timeline'][number]>()
  const add = (at: string, words: string, until: string | null = null) =>
    moments.set(`${at} ${words}`, { at, until, words })
  add(createdAt, `The event ${eventType} was processed.`)
  for (const { preferenceChange: change, erasedAt, facts } of decisions) {
    if (erasedAt !== null) add(erasedAt, 'The text was erased.')
    if (change === null) continue
    const { changedAt, changedBy, optedOutAt, withdrawnAt = null } = change
    if (withdrawnAt !== null) add(withdrawnAt, `The opt-out of ${eventType} was withdrawn.`)
    if (optedOutAt !== null) add(optedOutAt, `The member opted out of ${eventType}.`)
    if (optedOutAt !== changedAt)
      add(
        changedAt,
        `Preferences were set${changedBy === null ? '' : ` by ${changedBy}`}${preferredIn(facts)}.`,
      )
  }
  const last = decisions.at(-1)
  for (let start = 0, end: number; start < decisions.length; start = end) {
    const first = decisions[start] as ExplainedDecision
    const result = describeForMember(first, describeReason(first) === (last && describeReason(last)))
    // Equal retries share a line. A requested retry has its own.
    end = start + 1
    while (start > 0 && !first.retry && isLike(first, decisions[end])) end++
    const until = end - start > 1 ? (decisions[end - 1]?.decidedAt ?? null) : null
    add(first.decidedAt, asSentence(`${retryWords(first, start, end - start)}${result}`), until)
  }
  return [...moments.values()].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
}

function preferredIn({ preferredChannel }: ExplainedDecision['facts']): string {
  return typeof preferredChannel === 'string' ? `: ${nameOfChannel(preferredChannel)}` : ''
}

function retryWords({ retry }: ExplainedDecision, index: number, count: number): string {
  const whom = retry === null ? '' : ` for ${retry.by} (${retry.because})`
  if (index === 0) return retry === null ? '' : `Processed again${whom}: `
  const times = count === 1 ? '' : ` ${count} times`
  return `Tried again${times}${whom}: `
}

function isLike(one: ExplainedDecision, other: ExplainedDecision | undefined): boolean {
  return (
    other !== undefined &&
    !other.retry &&
    other.outcome === one.outcome &&
    describeReason(other) === describeReason(one)
  )
}

/** For members and agents, so without the errors of senders and look-ups. */
function describeReason({ sendError, outcome, facts, reason }: ExplainedDecision): string | null {
  if (sendError !== null) return 'the message could not be handed over for delivery'
  return outcome === 'FAIL' && facts.party === 'unresolved'
    ? 'the contact of the member could not be looked up'
    : reason
}

function describeForMember(decision: ExplainedDecision, isReasonKnown: boolean): string {
  const { outcome, channel, sendError, recordedOnly } = decision
  const reason = describeReason(decision)
  const why = isReasonKnown || reason === null ? '' : ` (${reason})`
  if (outcome === 'SKIP') return `not told${why}`
  if (outcome === 'FAIL' || sendError !== null) return `not sent${why}`
  // Another version stored this outcome.
  if (outcome !== 'SEND') return `${outcome}${why}`
  const kind = channelKind(channel)
  if (kind?.address === null) return kind.stored
  return `${nameOfChannel(channel)} ${recordedOnly ? 'recorded, not delivered' : sentBy(decision)}`
}

function sentBy({ recordedOnly }: Pick<ExplainedDecision, 'recordedOnly'>): string {
  return recordedOnly === null ? 'sent or only recorded: no receipt is stored' : 'sent'
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`
}
