import type { Message } from './message.ts'

/** What became of a rejected message that was taken through the pipeline again. */
export type RedriveResult =
  | { readonly result: 'logged'; readonly locator: string }
  /** Its event has a log row already. */
  | { readonly result: 'duplicate' }
  | { readonly result: 'rejected'; readonly code: string; readonly error: string }

/** A message that is no event, as it is kept. */
export interface Rejected {
  readonly id: bigint
  readonly topic: string
  readonly partition: number
  readonly message: Message
  readonly code: string
  readonly error: string
  /** ISO 8601. */
  readonly rejectedAt: string
  /** When key, value and headers were erased, ISO 8601; null where they were not. */
  readonly erasedAt: string | null
  /** The last time it was redriven; null if it never was. */
  readonly redriven: { readonly at: string; readonly by: string; readonly result: RedriveResult } | null
}
