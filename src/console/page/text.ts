/** Characters that are invisible or change the direction of text. */
const HIDDEN = /[\p{Cc}\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu

/** Makes characters visible that hide or reorder text: a right-to-left override becomes `[U+202E]`. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    /[\n\t]/.test(character)
      ? character
      : `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
  )
}

/** Text with only its first letter in upper case: `SENT` becomes `Sent`. */
export function inWords(code: string): string {
  return capital(code.toLowerCase())
}

/** Text that begins like a sentence. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Text that ends like a sentence. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

const MINUTE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

/** A time in the viewer's time zone, such as `31 Jan 2026, 12:00`. */
export function localTime(iso: string): string {
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? iso : MINUTE.format(date)
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })

/** A period in the viewer's time zone: whole days as `20–26 Nov 2026`, others with their times. It ends now if `to` is missing. */
export function describePeriod(from: string | undefined, to: string | undefined, nowMs = Date.now()): string {
  if (from === undefined) return `before ${localTime(to ?? '')}`
  const startMs = Date.parse(from)
  const endMs = to === undefined ? nowMs : Date.parse(to)
  // A future or unreadable time.
  if (!(startMs <= endMs))
    return `from ${localTime(from)}${to === undefined ? '' : ` until ${localTime(to)}`}`
  const isMidnight = (atMs: number) => formatClock(new Date(atMs)) === '00:00:00'
  if (!isMidnight(startMs) || (to !== undefined && !isMidnight(endMs)))
    return MINUTE.formatRange(startMs, endMs)
  return DAY.formatRange(startMs, Math.max(startMs, to === undefined ? endMs : endMs - 1))
}

/** A time in the viewer's time zone and in UTC. */
export function exactTime(iso: string): string {
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? iso : `${formatDay(date)} ${formatClock(date)} (${iso})`
}

/** A relative time such as `5 min ago`, or the day after more than 30 days. */
export function ago(iso: string, nowMs = Date.now()): string {
  const atMs = Date.parse(iso)
  const minutes = Math.floor((nowMs - atMs) / 60_000)
  if (Number.isNaN(minutes) || minutes < -1) return localTime(iso)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`
  const days = Math.floor(minutes / (24 * 60))
  return days <= 30 ? `${counted(days, 'day', 'days')} ago` : formatDay(new Date(atMs))
}

/** The start of a step (seconds since 1970), as short as the length of the step allows. */
export function stepName(startS: number, stepS: number): string {
  const date = new Date(startS * 1_000)
  const clock = formatClock(date)
  if (stepS < 60) return clock
  return stepS < 3_600 ? clock.slice(0, 5) : `${formatDay(date)} ${clock.slice(0, 5)}`
}

/** Swedish dates and times have the format of ISO 8601. */
const ISO = 'sv'

/** A day in the viewer's time zone, in the format of a date field. */
export function formatDay(date: Date): string {
  return date.toLocaleDateString(ISO)
}

function formatClock(date: Date): string {
  return date.toLocaleTimeString(ISO)
}

/** The instant of a date-and-time field, for a query; blank if the field is empty. */
export function toInstant(local: string): string {
  const date = new Date(local)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** The value of a date-and-time field for an instant. */
export function toFormTime(iso: string | undefined): string {
  const date = new Date(iso ?? '')
  return Number.isNaN(date.getTime()) ? '' : `${formatDay(date)}T${formatClock(date)}`
}

/** The first bytes of a message: as text if they are UTF-8, else in hexadecimal. `begin` is base64. */
export function decodeBegin(begin: string, byteCount: number): string {
  const bytes = Uint8Array.from(atob(begin), (character) => character.charCodeAt(0))
  const isCut = bytes.length < byteCount
  const more = isCut ? ' …' : ''
  try {
    // Omits a character that is cut off at the end.
    return `${visible(new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut }))}${more}`
  } catch {
    return `${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')}${more}`
  }
}

/** A number with thousands separators, and its noun. */
export function counted(count: number, one: string, many: string): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`
}

/** A number with thousands separators. */
export function formatNumber(count: number): string {
  return count.toLocaleString('en')
}
