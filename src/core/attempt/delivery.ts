import type { Channel } from '../decision/channel.ts'
import { storable } from '../text/sanitize.ts'

/** The message of a log row on its way to the sender of its channel; `to` is null for IN_APP. */
export interface OutgoingMessage {
  /** The log row's. */
  readonly locator: string
  readonly channel: Channel
  /** `eventId/number`, by which a transport recognises a message that it has had before. */
  readonly idempotencyKey: string
  readonly to: string | null
  readonly subject: string
  readonly body: string
}

/** The sender's answer for one row; receipt and error are null where the channel has no sender. */
export interface Delivery {
  readonly receipt: string | null
  readonly error: string | null
  /** There is an error, but the message may have gone out all the same. */
  readonly isUnknown?: true
}

/** Deliveries by the locator of their row. */
export type Deliveries = ReadonlyMap<string, Delivery>

/** Hands messages to their senders. Must not reject. */
export type Send = (messages: readonly OutgoingMessage[]) => Promise<Deliveries>

/** A sender's answer as it can be stored. */
export function deliveryOf(
  result: { receipt: string } | { error: string; isUnknown?: true } | null,
): Delivery {
  if (result === null) return { receipt: null, error: null }
  if ('error' in result) return { ...result, receipt: null, error: storable(result.error) }
  return { receipt: storable(result.receipt), error: null }
}
