import { FAULTY_COUNT_MIN } from './data-faults.ts'

export interface ShareLimit {
  readonly countMin: number
  readonly shareMax: number
}

/**
 * Where one party in twenty is unknown, each of these is exceeded by chance in less than one of a million windows. With a fifth of fifty
 * it was one in 40,000: a false page every few weeks, since each minute is judged.
 */
export const HALF: ShareLimit = { countMin: 15, shareMax: 0.5 }

/** For values that a few parties share on a normal day. */
export const NEARLY_ALL: ShareLimit = { countMin: 15, shareMax: 0.8 }

const SHARE_LIMITS: readonly ShareLimit[] = [
  HALF,
  { countMin: 50, shareMax: 0.25 },
  { countMin: 200, shareMax: 0.2 },
]

/** True if this share is surely a fault, false if it may be chance; null if it is none. */
export function judgeShare(
  faultyCount: number,
  rightCount: number,
  limits: readonly ShareLimit[] = SHARE_LIMITS,
): boolean | null {
  const count = faultyCount + rightCount
  if (faultyCount > 0 && rightCount === 0) return count >= FAULTY_COUNT_MIN
  return exceedsAny(limits, faultyCount, count) ? true : null
}

export function exceedsAny(limits: readonly ShareLimit[], faultyCount: number, count: number): boolean {
  return limits.some((limit) => exceeds(limit, faultyCount, count))
}

export function exceeds({ countMin, shareMax }: ShareLimit, faultyCount: number, count: number): boolean {
  return count >= countMin && faultyCount / count > shareMax
}
