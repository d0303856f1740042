/** All event types without a template, and all with one. */
export const NO_TEMPLATE = 'no template'
export const ANY_TEMPLATE = 'any template'
/** In promises only: all types that no rule names. */
export const ANY_OTHER = 'any other'

/** Words of a cell that are not event types, in any case. */
const WORDS = /^(not|or|exactly)$|^(no|any) (template|other)$/i

/** The form in which opt-outs and event types compare: capitals and outer spaces do not matter. */
export function foldEventType(eventType: string): string {
  return eventType.trim().toLowerCase()
}

/** Returns a function that is true for a type that differs from one of these names only in case or outer spaces. */
export function createCaseJudge(names: readonly string[]): (eventType: string) => boolean {
  const folded = new Set(names.map(foldEventType))
  return (eventType) => !names.includes(eventType) && folded.has(foldEventType(eventType))
}

/** True if one of these opt-outs covers an event type. */
export function coversEventType(optedOutEvents: readonly string[], eventType: string): boolean {
  const folded = foldEventType(eventType)
  return optedOutEvents.some((optOut) => foldEventType(optOut) === folded)
}

/** True if a text is a pattern or list of a cell, and so no event type name. */
export function isPattern(untrimmed: string): boolean {
  const text = untrimmed.trim()
  if (!/[*\s]/.test(text)) return false
  const words = splitWords(text)
  const hasList = words.slice(1, -1).includes('or')
  const hasPrefix = words.length > 1 && ['not', 'exactly'].includes(words[0] ?? '')
  return text.includes('*') || hasList || hasPrefix || isAboutTemplates(words.join(' '))
}

export function splitWords(text: string): string[] {
  const words = text.split(/\s+/)
  if (WORDS.test(words.join(' '))) return words.map((word) => word.toLowerCase())
  return words.map((word) => (WORDS.test(word) ? word.toLowerCase() : word))
}

export function isAnyOther(text: string): boolean {
  return text === ANY_OTHER
}

export function isAboutTemplates(text: string): boolean {
  return text === NO_TEMPLATE || text === ANY_TEMPLATE
}
