import { decideOrFail, describeFailure } from '../../service/decide/decision/decide.ts'
import {
  buildFacts,
  type FactKey,
  type KnownValue,
  type RecordedFacts,
} from '../../service/decide/decision/facts.ts'
import { describeResult } from '../../service/decide/decision/result.ts'
import { channelKind } from '../../service/decide/party/channel.ts'
import type { Contact } from '../../service/decide/party/contact.ts'
import { mismatchesAbove } from '../../service/decide/rules/mismatch.ts'
import { describeSituation } from '../../service/decide/rules/situations.ts'
import type { RuleTable } from '../../service/decide/rules/table.ts'
import { render } from '../../service/decide/templates/render.ts'
import type { Templates, Variables } from '../../service/decide/templates/template.ts'
import { printable } from '../../service/text/sanitize.ts'
import { describeSms, measureSms } from '../templates/sms-length.ts'

export interface TriedEvent {
  readonly event: Variables
  readonly facts: RecordedFacts
  /** Set if the party was looked up. */
  readonly contact?: Contact | undefined
}

/** An invented event with assumed facts. */
export type Trial = Variables & { readonly [K in FactKey]: KnownValue<K> }

export function eventOfTrial({ eventType, locator, reason, ...values }: Trial): TriedEvent {
  return {
    event: { eventType, locator, reason },
    facts: buildFacts(eventType, values.party, (key) => values[key]),
    contact:
      values.party === 'unresolved'
        ? { state: values.party, error: 'policy administration could not be asked', costsNoAttempt: true }
        : undefined,
  }
}

export type TriedDecision = ReturnType<typeof tryEvent>

/** Decides an event and renders its text with the production code. Writes nothing. */
export function tryEvent(
  { rules, decide }: RuleTable,
  templates: Templates,
  { event, facts, contact }: TriedEvent,
) {
  const result = decideOrFail(decide, facts)
  const decision = { ...result, facts, failureReason: describeFailure(result, facts, contact) }
  const index = rules.findIndex(({ id }) => id === decision.ruleId)
  const rendered = decision.outcome === 'SKIP' ? null : render(templates, event)
  const text = rendered && { subject: rendered.subject, body: rendered.body }
  return {
    ...decision,
    /** The rule's sentence for people. */
    because: rules[index]?.because ?? '',
    rulesAbove: mismatchesAbove(rules, index, facts),
    /** The text to send, or to store for a retry; null on SKIP. */
    text,
    /** Length of the body as an SMS; null for other channels. */
    sms:
      text !== null && decision.outcome === 'SEND' && channelKind(decision.channel)?.isSegmented
        ? measureSms(text.body)
        : null,
  }
}

export function describeTried(tried: TriedDecision): string[] {
  const { facts, because, rulesAbove, text, sms, ...decision } = tried
  const to = `${describeResult(decision)} by rule "${decision.ruleId}"`
  return [
    `${to}, for ${facts.eventType}, ${describeSituation(facts)}: ${because}`,
    ...rulesAbove.map(({ ruleId, mismatch }) => `  not by rule "${ruleId}": ${mismatch}`),
    ...(decision.outcome === 'FAIL' ? ['Nothing is sent now; a retry would send:'] : []),
    ...(text === null
      ? ['No message is sent.']
      : ['', `Subject: ${text.subject}`, '', ...text.body.split('\n')]),
    ...(sms === null ? [] : ['', `By text message: ${describeSms(sms)}`]),
  ].map(printable)
}
