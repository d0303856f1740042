import type { Channel } from '../decision/channel.ts'
import { storable } from '../text/sanitize.ts'
import type { Entry } from './compose-entry.ts'
import type { RetriedEntry } from './decide-retry.ts'
import type { DueEntry } from './due-entry.ts'
import type { Status } from './status.ts'

/** The message of a log row, on its way to the sender of its channel; `to` is null for IN_APP. */
export interface OutgoingMessage {
  /** Of the log row. */
  readonly locator: string
  readonly channel: Channel
  /**
   * `eventId/number`, by which a transport can recognise a message that it has had before. The number counts the sends
   * that were committed, so that one whose transaction was rolled back is made again under the same key; it stays the
   * same while nobody knows what became of a message.
   */
  readonly idempotencyKey: string
  readonly to: string | null
  readonly subject: string
  readonly body: string
}

/** The result of handing a row to its sender; receipt and error are null where the channel has no sender. */
export interface Delivery {
  readonly receipt: string | null
  readonly error: string | null
  /** There is an error, but the message may have gone out all the same. */
  readonly isUnknown?: true
}

/** By the locators of the rows. */
export type Deliveries = ReadonlyMap<string, Delivery>

/** Hands messages to their senders. Must not reject. */
export type Send = (messages: readonly OutgoingMessage[]) => Promise<Deliveries>

/** The messages of rows of new events, of those that are to be sent. */
export function messagesOfEntries(entries: readonly Entry[]): OutgoingMessage[] {
  const messages: OutgoingMessage[] = []
  for (const { locator, event, decision, text, address } of entries) {
    if (decision.outcome !== 'SEND' || text === null) continue
    const { subject, body } = text
    const idempotencyKey = `${event.eventId}/1`
    messages.push({ locator, channel: decision.channel, idempotencyKey, to: address, subject, body })
  }
  return messages
}

/** The messages of retried rows, of those that are to be sent, from their stored text. */
export function messagesOfRetries(retried: readonly RetriedEntry[]): OutgoingMessage[] {
  return retried.flatMap(({ due, decision, address }) => {
    if (decision.outcome !== 'SEND') return []
    const { locator, eventId, subject, body } = due
    const idempotencyKey = `${eventId}/${keyNumberOf(due)}`
    return [{ locator, channel: decision.channel, idempotencyKey, to: address, subject, body }]
  })
}

/** The number in the idempotency key of a retry. */
export function keyNumberOf({ unknownKey, sendCount }: DueEntry): number {
  return unknownKey ?? sendCount + 1
}

/** A sender's answer as it can be stored. */
export function deliveryOf(
  result: { receipt: string } | { error: string; isUnknown?: true } | null,
): Delivery {
  if (result === null) return { receipt: null, error: null }
  if ('error' in result) return { ...result, receipt: null, error: storable(result.error) }
  return { receipt: storable(result.receipt), error: null }
}

/** The rows as they are stored once sent: FAILED where the sender failed. */
export function afterDelivery<Row extends { readonly status: Status }>(
  rows: readonly Row[],
  deliveries: Deliveries,
  locatorOf: (row: Row) => string,
): readonly Row[] {
  const failed = new Set<string>()
  for (const [locator, { error }] of deliveries) if (error !== null) failed.add(locator)
  if (failed.size === 0) return rows
  return rows.map((row) => (failed.has(locatorOf(row)) ? { ...row, status: 'FAILED' } : row))
}
