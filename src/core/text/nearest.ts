/** The end of a fault, such as `; did you mean "SEND"?`: empty where nothing is near. */
export function didYouMean(near: string | null): string {
  return near === null ? '' : `; did you mean "${near}"?`
}

/**
 * The choice that someone who wrote `value` most likely meant, or null where none is close: at most half of the
 * characters may differ, whatever their case. Of equally close ones the first wins.
 */
export function nearest(value: string, choices: readonly string[]): string | null {
  let best: string | null = null
  let bestDistance = Number.POSITIVE_INFINITY
  for (const choice of choices) {
    const distance = editDistance(value.toLowerCase(), choice.toLowerCase())
    const distanceMax = Math.floor(Math.max(value.length, choice.length) / 2)
    if (distance <= distanceMax && distance < bestDistance) {
      best = choice
      bestDistance = distance
    }
  }
  return best
}

/** Whether someone who wrote `value` most likely meant `choice`: one or two characters differ. */
export function isSlip(value: string, choice: string): boolean {
  return editDistance(value.toLowerCase(), choice.toLowerCase()) <= SLIP_DISTANCE_MAX
}

const SLIP_DISTANCE_MAX = 2

/** Levenshtein distance; keeps one row of the matrix. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = at(above, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(substitution, at(above, j) + 1, at(row, j - 1) + 1))
    }
    above = row
  }
  return at(above, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] as number
}
