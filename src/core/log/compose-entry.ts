import type { Channel } from '../decision/channel.ts'
import type { Decision } from '../decision/decide.ts'
import type { Event } from '../event/parse-event.ts'
import type { Contact } from '../party/contact.ts'
import { render } from '../templates/render.ts'
import type { Template, Templates, Variables } from '../templates/template.ts'
import { STATUS_OF, type Status } from './status.ts'

/** One log row about to be written, with the decision behind it. */
export interface Entry {
  readonly locator: string
  readonly event: Event
  readonly decision: Decision
  readonly status: Status
  /** Null unless the row may ever be sent: a skipped row stores no text. */
  readonly text: { readonly subject: string; readonly body: string } | null
  /** Of a skipped row too: it may be retried on request. */
  readonly variables: Variables
  readonly templateRevision: Template['revision'] | null
  /** 1 where a send is made, else 0. */
  readonly attemptCount: number
  /** Where to send to; never stored. Null unless the message goes out by EMAIL or SMS. */
  readonly address: string | null
  readonly offset: bigint
}

/** Composes the row of one decided event. */
export function composeEntry(
  locator: string,
  event: Event,
  offset: bigint,
  decision: Decision,
  contact: Contact | undefined,
  templates: Templates,
): Entry {
  const send = decision.outcome === 'SEND'
  const variables = variablesOf(event)
  const rendered = decision.outcome === 'SKIP' ? null : render(templates, variables)
  return {
    locator,
    event,
    decision,
    status: STATUS_OF[decision.outcome],
    text: rendered,
    variables,
    templateRevision: rendered?.revision ?? null,
    attemptCount: send ? 1 : 0,
    address: send ? addressFor(decision.channel, contact) : null,
    offset,
  }
}

/** What a template may insert of an event. */
export function variablesOf({ eventType, locator, reason }: Event): Variables {
  return { eventType, locator, reason }
}

/** The address on file for a channel; null for IN_APP, where the row is the message. */
export function addressFor(channel: Channel, contact: Contact | undefined): string | null {
  if (contact?.state !== 'found') return null
  switch (channel) {
    case 'EMAIL':
      return contact.email
    case 'SMS':
      return contact.phone
    case 'IN_APP':
      return null
    default:
      return channel satisfies never
  }
}
