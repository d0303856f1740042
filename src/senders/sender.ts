import type { Answer, Query } from '../core/attempt/delivery.ts'

/** One message for one address. The key, `eventId/n`, lets a transport recognise one that it has had before. */
export interface Message {
  readonly idempotencyKey: string
  readonly to: string
  readonly subject: string
  readonly body: string
}

export interface HandOver {
  /** Aborts 250 ms before the deadline. Answers after the deadline are not heard, and `query` runs no statement then. */
  readonly signal: AbortSignal
  /** Writes in the transaction of the log rows. A statement that the database refuses is undone alone, and rejects. */
  readonly query: Query
}

/** See README.md for the contract. */
export interface Sender {
  /** It records messages and delivers none; `doctor` says so. */
  readonly isPlaceholder?: true
  /** The most messages that it takes in one call. */
  readonly countMax: number
  /** One answer for each message, in the same order. Rejects where nobody knows what became of them. */
  send(messages: readonly Message[], handOver: HandOver): Promise<readonly Answer[]>
}
