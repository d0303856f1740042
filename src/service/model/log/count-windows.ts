/** Periods to count over, in seconds, each in at most 60 steps. */
export const COUNT_WINDOWS = {
  '1h': { lengthS: 3_600, stepS: 60 },
  '24h': { lengthS: 86_400, stepS: 1_800 },
  '7d': { lengthS: 604_800, stepS: 10_800 },
  '30d': { lengthS: 2_592_000, stepS: 43_200 },
} as const
export type CountWindow = keyof typeof COUNT_WINDOWS
export const COUNT_WINDOW_NAMES = Object.keys(COUNT_WINDOWS) as CountWindow[]
