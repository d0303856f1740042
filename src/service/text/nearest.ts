import leven from 'leven'

/** The end of a fault, such as `; did you mean "SEND"?`; empty if nothing is near. */
export function didYouMean(near: string | null | readonly string[]): string {
  const names = near === null ? [] : [near].flat()
  return names.length === 0 ? '' : `; did you mean ${names.map((name) => `"${name}"`).join(' or ')}?`
}

/** The first of `nearestOnes`, or null if none is close. */
export function nearest(value: string, choices: readonly string[]): string | null {
  return nearestOnes(value, choices)[0] ?? null
}

const NEAREST_COUNT_MAX = 3

/**
 * The choices most likely meant by `value`, nearest first; ties keep their order. At most half of the characters may differ; case
 * is ignored. If one differs by a typing error, returns it alone.
 */
export function nearestOnes(value: string, choices: readonly string[]): string[] {
  const close = choices
    .map((choice) => ({ choice, distance: leven(value.toLowerCase(), choice.toLowerCase()) }))
    .filter(({ choice, distance }) => distance <= Math.floor(Math.max(value.length, choice.length) / 2))
    .sort((one, other) => one.distance - other.distance)
  const isClear = close[0] !== undefined && close[0].distance <= SLIP_DISTANCE_MAX
  return close.slice(0, isClear ? 1 : NEAREST_COUNT_MAX).map(({ choice }) => choice)
}

/** True if `value` is probably a misspelt `choice`: at most two characters differ. */
export function isSlip(value: string, choice: string): boolean {
  return leven(value.toLowerCase(), choice.toLowerCase()) <= SLIP_DISTANCE_MAX
}

const SLIP_DISTANCE_MAX = 2
