import { storable } from '../../text/sanitize.ts'
import type { Channel } from '../party/channel.ts'

/** Prefix of a placeholder's receipts. In rows of version 1.0 only this distinguishes them from a transport's. */
export const RECORDED = 'recorded:'

/** The message of a log row, for the sender of its channel; `to` is null for IN_APP. */
export interface OutgoingMessage {
  readonly locator: string
  readonly channel: Channel
  /** `eventId/number`, with which a transport recognises duplicates. */
  readonly idempotencyKey: string
  readonly to: string | null
  readonly subject: string
  readonly body: string
}

/** A transport's answer for one message. Its text must not contain contact data. */
export type Answer =
  | { readonly answer: 'accepted'; readonly receipt: string }
  /** `refused`: it will not be sent. `unknown`: it may have been sent. `deferred`: the sender did not try. */
  | { readonly answer: 'refused' | 'unknown' | 'deferred'; readonly error: string }

/** The sender's answer for one row; receipt and error are null if the channel has no sender. */
export interface Delivery {
  readonly receipt: string | null
  readonly error: string | null
  /** A placeholder recorded the message, and delivered nothing. */
  readonly isRecorded?: true
  /** The send failed, but the message may have been sent. */
  readonly isUnknown?: true
  /** The message was not passed on, which costs no attempt. */
  readonly isDeferred?: true
}

export type Deliveries = ReadonlyMap<string, Delivery>

/**
 * Runs one statement in the transaction of an attempt; $1, $2, … stand for the values. Returns its rows. Rejects if the database
 * refuses it: the error's `code` is the SQLSTATE.
 */
export type Query = (
  statement: string,
  values?: readonly unknown[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Passes messages to their senders, which may write through `query`. Must not reject. */
export type Send = (messages: readonly OutgoingMessage[], query: Query) => Promise<Deliveries>

export function toDelivery(channel: Channel, given: Answer, isPlaceholder?: true): Delivery {
  switch (given.answer) {
    case 'accepted':
      return isPlaceholder
        ? { receipt: storable(given.receipt), error: null, isRecorded: true }
        : { receipt: storable(given.receipt), error: null }
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
