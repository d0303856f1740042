import { didYouMean, nearest } from '../text/nearest.ts'
import { CellFault } from './errors.ts'

const RULE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** PostgreSQL refuses NUL; the others would spoil a log line. */
const CONTROL = /\p{Cc}/u

/** Words for yes and no, some of them from spreadsheets in other languages, so that the fault can name the right one. */
const YES_WORDS =
  'true y 1 x on ja j wahr oui o vrai si sí s verdadero vero sim verdadeiro tak t prawda da да'.split(' ')
const NO_WORDS = 'false n 0 off nein falsch nee onwaar non faux falso não nao nie fałsz ne нет'.split(' ')
const YES_NO_HINTS = new Map([
  ...YES_WORDS.map((word) => [word, 'yes'] as const),
  ...NO_WORDS.map((word) => [word, 'no'] as const),
])

/** A blank cell means any. Throws CellFault. */
export function orAny<T>(parse: (text: string) => T): (text: string) => T | null {
  return (text) => (text === '' ? null : parse(text))
}

/** One of the given words, in any case. Throws CellFault, which lists the words and names the nearest. */
export function oneOf<T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const word = words.find((candidate) => candidate.toLowerCase() === text.toLowerCase())
    if (word === undefined) throw new CellFault(notOneOf(text, words, nearest(text, words)))
    return word
  }
}

/** Throws CellFault. */
export function parseYesNo(text: string): boolean {
  const words = ['yes', 'no']
  const word = text.normalize('NFC').toLowerCase()
  if (words.includes(word)) return word === 'yes'
  throw new CellFault(notOneOf(text, words, YES_NO_HINTS.get(word) ?? nearest(text, words)))
}

/** An id that no row above has; added to `rowOfId`. Throws CellFault. */
export function parseRuleId(text: string, row: number, rowOfId: Map<string, number>): string {
  if (text === '') throw new CellFault('is blank: give the rule a permanent id')
  if (!RULE_ID.test(text)) {
    throw new CellFault(
      `"${text}" is not a rule id: use at most 64 letters, digits, ".", "_" and "-", a letter or digit first`,
    )
  }
  const rowAbove = rowOfId.get(text)
  if (rowAbove !== undefined) {
    throw new CellFault(`"${text}" is already the rule in row ${rowAbove}: give each rule an id of its own`)
  }
  rowOfId.set(text, row)
  return text
}

/** Short text for `failure_reason`. Throws CellFault. */
export function parseReason(text: string): string {
  if (CONTROL.test(text)) throw new CellFault('has a tab or another control character in it: remove it')
  return text
}

/** A sentence for people. Throws CellFault. */
export function parseBecause(text: string): string {
  if (text === '') throw new CellFault('is blank: say in one sentence why the rule is as it is')
  return parseReason(text)
}

/** A sentence that no row above has; added to `rowOfName`. Throws CellFault. */
export function parsePromiseName(text: string, row: number, rowOfName: Map<string, number>): string {
  if (text === '') throw new CellFault('is blank: say in one sentence what is promised')
  const rowAbove = rowOfName.get(text)
  if (rowAbove !== undefined) {
    throw new CellFault(`"${text}" is already the promise in row ${rowAbove}: say how this one differs`)
  }
  rowOfName.set(text, row)
  return parseReason(text)
}

function notOneOf(text: string, words: readonly string[], near: string | null): string {
  const what = text === '' ? 'is blank' : `"${text}" is not valid`
  return `${what}: use ${words.slice(0, -1).join(', ')} or ${words.at(-1)}${didYouMean(near)}`
}
