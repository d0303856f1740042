import type { Channel } from '../decision/channel.ts'
import { storable } from '../text/sanitize.ts'

/** The receipts of a placeholder begin with this. Earlier versions left it out. */
export const RECORDED = 'recorded:'

/** True if a placeholder recorded the message and delivered nothing. `receipt` is that of its last send. */
export function isRecordedOnly(receipt: string | null): boolean {
  return receipt !== null && /^(recorded|EMAIL|SMS):/.test(receipt)
}

/** The message of a log row on its way to the sender of its channel; `to` is null for IN_APP. */
export interface OutgoingMessage {
  readonly locator: string
  readonly channel: Channel
  /** `eventId/number`, by which a transport recognises a message that it has had before. */
  readonly idempotencyKey: string
  readonly to: string | null
  readonly subject: string
  readonly body: string
}

/** A transport's answer for one message. Its words may not carry contact data. */
export type Answer =
  | { readonly answer: 'accepted'; readonly receipt: string }
  /** `refused`: it will not go out. `unknown`: it may have gone out. `deferred`: nobody tried to send it. */
  | { readonly answer: 'refused' | 'unknown' | 'deferred'; readonly error: string }

/** The sender's answer for one row; receipt and error are null where the channel has no sender. */
export interface Delivery {
  readonly receipt: string | null
  readonly error: string | null
  /** There is an error, but the message may have gone out all the same. */
  readonly isUnknown?: true
  /** The message was not tried: this costs no attempt. */
  readonly isDeferred?: true
}

/** Deliveries by the locator of their row. */
export type Deliveries = ReadonlyMap<string, Delivery>

/**
 * Runs one statement ($1, $2, … stand for the values) in the transaction of an attempt. Returns its rows. Rejects with the
 * SQLSTATE as the error's `code` if the database refuses it.
 */
export type Query = (
  statement: string,
  values?: readonly unknown[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Hands messages to their senders, which may write by `query`. Must not reject. */
export type Send = (messages: readonly OutgoingMessage[], query: Query) => Promise<Deliveries>

export function deliveryOf(channel: Channel, given: Answer): Delivery {
  switch (given.answer) {
    case 'accepted':
      return { receipt: storable(given.receipt), error: null }
    case 'refused':
      return { receipt: null, error: storable(given.error) }
    case 'unknown':
      return { receipt: null, error: storable(given.error), isUnknown: true }
    case 'deferred':
      return { receipt: null, error: `${channel} deferred: ${storable(given.error)}`, isDeferred: true }
    default:
      return given satisfies never
  }
}
