import { z } from 'zod'
import type { Message } from './message.ts'

/** The result of a redrive; `duplicate`: the event had a log row already. */
const redriveResult = z.discriminatedUnion('result', [
  z.object({ result: z.literal('logged'), locator: z.string() }),
  z.object({ result: z.literal('duplicate') }),
  z.object({ result: z.literal('rejected'), code: z.string(), error: z.string() }),
])
export type RedriveResult = Readonly<z.infer<typeof redriveResult>>

/** An operator settled the message without a redrive; `error` is the reason. */
const dismissal = z.object({ result: z.literal('dismissed'), error: z.string() })
const settled = z.discriminatedUnion('result', [...redriveResult.options, dismissal])
export type SettledResult = Readonly<z.infer<typeof settled>>

const redrive = z.object({ at: z.string(), by: z.string(), result: settled })

/** The record of a rejected message, without the message. Times are in ISO 8601. */
export const rejectionRecord = z.object({
  id: z.bigint(),
  topic: z.string(),
  partition: z.number(),
  code: z.string(),
  error: z.string(),
  rejectedAt: z.string(),
  /** When key, value and headers were erased; null where they were not. */
  erasedAt: z.string().nullable(),
  /** The last time it was redriven or dismissed; null if it never was. */
  redriven: redrive.nullable(),
})
type RejectionRecord = Readonly<z.infer<typeof rejectionRecord>>

export interface Rejected extends RejectionRecord {
  readonly message: Message
}

/** A rejected message without all of what it holds. */
export interface RejectedMessageSummary extends RejectionRecord {
  readonly offset: bigint
  /** Bytes of the value; null if the message has none. */
  readonly byteCount: number | null
  readonly begin: Uint8Array | null
}

/** Newest first. `next` is the `after` of the next page, if there is one. */
export interface RejectedMessagePage {
  readonly items: readonly RejectedMessageSummary[]
  readonly next: bigint | null
}

export const shownRejectedMessage = z.object({
  /** In decimal digits, like the offset: both outgrow a JSON number. */
  id: z.string().regex(/^[1-9]\d{0,17}$/),
  topic: z.string(),
  partition: z.int(),
  offset: z.string(),
  code: z.string(),
  error: z.string(),
  rejectedAt: z.string(),
  erasedAt: z.string().nullable(),
  byteCount: z.int().nullable(),
  /** The first bytes of its value, in base64. */
  begin: z.string().nullable(),
  redriven: z
    .object({
      at: z.string(),
      by: z.string(),
      result: z.enum(['logged', 'duplicate', 'rejected', 'dismissed']),
      locator: z.string().nullable(),
    })
    .nullable(),
})
export type ShownRejectedMessage = Readonly<z.infer<typeof shownRejectedMessage>>

/** Words of `rejected skip` for the first and the last offset that it skipped. */
export function describeSkip(from: bigint, to: bigint, by: string): string {
  return `skipped offsets ${from} to ${to} by ${by}`
}

/** Finds the last offset in a record that holds such a text behind a semicolon; a regular expression of PostgreSQL. */
export const SKIPPED_TO = '; skipped offsets [0-9]+ to ([0-9]{1,18}) by '
