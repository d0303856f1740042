import type { Answer, Query } from '../decide/attempt/delivery.ts'

/** One message for one address. By the key, `eventId/n`, a transport recognises a duplicate. */
export interface TransportMessage {
  readonly idempotencyKey: string
  readonly to: string
  readonly subject: string
  readonly body: string
}

export interface HandOver {
  /** Aborts 250 ms before the deadline. After the deadline answers are ignored, and `query` runs no statement. */
  readonly signal: AbortSignal
  /** Writes in the transaction of the log rows. A statement that the database refuses is undone alone, and rejects. */
  readonly query: Query
}

/** See README.md for the contract. */
export interface Sender {
  /** True if it only records messages; `doctor` reports this. */
  readonly isPlaceholder?: true
  /** Maximum number of messages in one call. */
  readonly countMax: number
  /** One answer for each message, in the same order. Rejects if the result of the messages is unknown. */
  send(messages: readonly TransportMessage[], handOver: HandOver): Promise<readonly Answer[]>
}
