/** Where a day without a time stands for. */
const TIME_OF_DAY = { start: 'T00:00:00Z', end: 'T23:59:59.999999Z' } as const

/**
 * An instant as people write it: ISO 8601 with `Z` or an offset and up to six decimals, or a day alone, which stands for
 * its start or its end in UTC. Returns it in UTC with microseconds, so that as text it compares like a time of the
 * database; null for what is none, such as the 30th of February.
 */
export function parseInstant(text: string, day: keyof typeof TIME_OF_DAY): string | null {
  const whole = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}${TIME_OF_DAY[day]}` : text
  const [, date, seconds, decimals = '', zone] =
    /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?(Z|[+-]\d{2}:\d{2})$/.exec(whole) ?? []
  const instant = new Date(`${date}T${seconds}${zone}`)
  if (Number.isNaN(instant.getTime()) || !isDate(date as string)) return null
  const utc = instant.toISOString()
  // A year before 0 or after 9999 once in UTC.
  return /^\d{4}-/.test(utc) ? `${utc.slice(0, 19)}.${decimals.padEnd(6, '0')}Z` : null
}

/** Date takes the 30th of February for the 2nd of March. `date` is at most that far from one. */
function isDate(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
}
