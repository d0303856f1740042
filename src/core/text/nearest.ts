import leven from 'leven'

/** The end of a fault, such as `; did you mean "SEND"?`; empty if nothing is near. */
export function didYouMean(near: string | null): string {
  return near === null ? '' : `; did you mean "${near}"?`
}

/**
 * The choice most likely meant by `value`, or null if none is close: at most half of the characters may differ, in any case. If
 * several are equally close, the first wins.
 */
export function nearest(value: string, choices: readonly string[]): string | null {
  let best: string | null = null
  let bestDistance = Number.POSITIVE_INFINITY
  for (const choice of choices) {
    const distance = leven(value.toLowerCase(), choice.toLowerCase())
    const distanceMax = Math.floor(Math.max(value.length, choice.length) / 2)
    if (distance <= distanceMax && distance < bestDistance) {
      best = choice
      bestDistance = distance
    }
  }
  return best
}

/** True if `value` is probably a misspelt `choice`: at most two characters differ. */
export function isSlip(value: string, choice: string): boolean {
  return leven(value.toLowerCase(), choice.toLowerCase()) <= SLIP_DISTANCE_MAX
}

const SLIP_DISTANCE_MAX = 2
