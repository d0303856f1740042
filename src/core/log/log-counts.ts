import type { Status } from './entry.ts'

/** How far back one can count, and by which steps: at most 60 of them. In seconds. */
export const COUNT_WINDOWS = {
  '15m': { lengthS: 900, stepS: 15 },
  '1h': { lengthS: 3_600, stepS: 60 },
  '6h': { lengthS: 21_600, stepS: 360 },
  '24h': { lengthS: 86_400, stepS: 1_800 },
  '7d': { lengthS: 604_800, stepS: 10_800 },
  '30d': { lengthS: 2_592_000, stepS: 43_200 },
} as const
export type CountWindow = keyof typeof COUNT_WINDOWS
export const COUNT_WINDOW_NAMES = Object.keys(COUNT_WINDOWS) as CountWindow[]

/** Log entries of one step that are alike. */
export interface LogCount {
  /** When the step begins: seconds since 1970, a multiple of `stepS`. */
  readonly startS: number
  readonly status: Status
  /** The failure reason up to its first colon; null on SENT, and together for all but the most frequent ones (`OTHER`). */
  readonly reason: string | null
  /** `OTHER` for all but the most frequent ones. */
  readonly eventType: string
  readonly count: number
}

/** What stands for all but the most frequent reasons or event types: no event type can be empty. */
export const OTHER = ''

/** The log counted from `fromS` to `toS`, both in seconds since 1970 by the database's clock. */
export interface LogCounts {
  readonly fromS: number
  readonly toS: number
  readonly stepS: number
  /** False: there are more entries than are counted at once, so only the newest were, those since `fromS`. */
  readonly complete: boolean
  readonly counts: readonly LogCount[]
}
