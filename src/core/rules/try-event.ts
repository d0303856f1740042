import { z } from 'zod'
import { CHANNELS } from '../decision/channel.ts'
import { describeResult, failureReason, OUTCOMES } from '../decision/decide.ts'
import { recordedFacts } from '../decision/fact-schemas.ts'
import type { Facts } from '../decision/facts.ts'
import type { Contact } from '../party/contact.ts'
import { render } from '../templates/render.ts'
import type { Templates, Variables } from '../templates/template.ts'
import { printable } from '../text/sanitize.ts'
import { describeSms, measureSms, smsLength } from '../text/sms-length.ts'
import { mismatchesAbove } from './mismatch.ts'
import { describeSituation } from './situations.ts'
import type { RuleTable } from './table.ts'

export interface TriedEvent {
  readonly event: Variables
  readonly facts: Facts
  readonly isPartyInvalid?: boolean
  /** Given if the party was looked up. */
  readonly contact?: Contact | undefined
}

export const triedDecision = z.object({
  ruleId: z.string(),
  outcome: z.enum(OUTCOMES),
  channel: z.enum(CHANNELS),
  reason: z.string().nullable(),
  failureReason: z.string().nullable(),
  because: z.string(),
  facts: recordedFacts,
  /** The rules above it, from top to bottom, each with the first of its cells that did not match. */
  rulesAbove: z.array(z.object({ ruleId: z.string(), mismatch: z.string() })),
  /** As it would be sent, or stored for a retry; null on SKIP. */
  text: z.object({ subject: z.string(), body: z.string() }).nullable(),
  /** Length of the body as an SMS; null for other channels. */
  sms: smsLength.nullable(),
})
export type TriedDecision = Readonly<z.infer<typeof triedDecision>>

/** Decides an event and renders its text by the code that serves, and writes nothing. */
export function tryEvent(
  { rules, decide }: RuleTable,
  templates: Templates,
  { event, facts, isPartyInvalid = false, contact }: TriedEvent,
): TriedDecision {
  const result = decide(facts)
  const decision = { ...result, facts, failureReason: failureReason(result, isPartyInvalid, contact) }
  const index = rules.findIndex(({ id }) => id === decision.ruleId)
  const rendered = decision.outcome === 'SKIP' ? null : render(templates, event)
  const text = rendered && { subject: rendered.subject, body: rendered.body }
  return {
    ...decision,
    because: rules[index]?.because ?? '',
    rulesAbove: mismatchesAbove(rules, index, facts),
    text,
    sms:
      text !== null && decision.outcome === 'SEND' && decision.channel === 'SMS'
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
    ...(sms === null ? [] : ['', `By SMS: ${describeSms(sms)}`]),
  ].map(printable)
}
