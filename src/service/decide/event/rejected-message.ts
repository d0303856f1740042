import { z } from 'zod'
import type { Message } from './message.ts'
import type { Rejection } from './rejection.ts'

/** A message to store with the reason for its rejection. */
export interface RejectedMessage {
  readonly message: Message
  readonly rejection: Rejection
}

/** Result of a redrive; `duplicate`: the event already had a log row. */
export type RedriveResult =
  | { readonly result: 'logged'; readonly locator: string }
  | { readonly result: 'duplicate' }
  | { readonly result: 'rejected'; readonly code: string; readonly error: string }

/** The result that settled a message: of a redrive; of a dismissal, whose error is the operator's reason; or of another version. */
const settled = z.object({
  result: z.string(),
  locator: z.string().optional(),
  code: z.string().optional(),
  error: z.string().optional(),
})
export type Settled = Readonly<z.infer<typeof settled>>

const redrive = z.object({ at: z.string(), by: z.string(), result: settled })

/** Record of a rejected message, without the message itself. Times are in ISO 8601. */
export const rejectionRecord = z.object({
  id: z.bigint(),
  topic: z.string(),
  partition: z.number(),
  code: z.string(),
  error: z.string(),
  rejectedAt: z.string(),
  /** Time at which key, value and headers were erased, or null. */
  erasedAt: z.string().nullable(),
  /** The last redrive or dismissal; null if there was none. */
  redriven: redrive.nullable(),
})
type RejectionRecord = Readonly<z.infer<typeof rejectionRecord>>

export interface StoredRejectedMessage extends RejectionRecord {
  readonly message: Message
}

/** `next`: the id to continue after; null at the end. A page may be short or empty without being the last. */
export interface RejectedPage {
  readonly messages: readonly StoredRejectedMessage[]
  readonly next: bigint | null
}

export interface RejectedMessageSummary extends RejectionRecord {
  readonly offset: bigint
  readonly byteCount: number | null
  readonly begin: Uint8Array | null
}

export const shownRejectedMessage = rejectionRecord.extend({
  /** Decimal digits, like the offset: both outgrow a JSON number. */
  id: z.string().regex(/^[1-9]\d{0,17}$/),
  partition: z.int(),
  offset: z.string(),
  byteCount: z.int().nullable(),
  /** The first bytes of its value, in base64. */
  begin: z.string().nullable(),
  redriven: redrive.extend({ result: z.string(), locator: z.string().nullable() }).nullable(),
})
export type ShownRejectedMessage = Readonly<z.infer<typeof shownRejectedMessage>>
