import { didYouMean, nearest } from '../../text/nearest.ts'
import { CellFault } from './table-errors.ts'

const RULE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** PostgreSQL refuses NUL; the others would spoil a log line. */
const CONTROL = /\p{Cc}/u

/** A blank cell is null. Throws CellFault. */
export function orBlank<T>(parse: (text: string) => T): (text: string) => T | null {
  return (text) => (text === '' ? null : parse(text))
}

/** A blank cell means any. The word is refused: as an event type it would match no event. Throws CellFault. */
export function orAny<T>(parse: (text: string) => T): (text: string) => T | null {
  return orBlank((text) => {
    if (isWordForAny(text)) throw new CellFault(`"${text}" cannot stand here: leave it blank for any`)
    return parse(text)
  })
}

export function isWordForAny(text: string): boolean {
  return /^(any|all|\*)$/i.test(text)
}

/** One of the given words, in any case. Throws CellFault, which lists the words and names the nearest. */
export function choice<T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const word = words.find((candidate) => candidate.toLowerCase() === text.toLowerCase())
    if (word !== undefined) return word
    const meant = listMeant(text, words)
    if (meant.length > 0)
      throw new CellFault(`"${text}" is not one value: write a row for each of ${meant.join(', ')}`)
    const what = text === '' ? 'is blank' : `"${text}" is not valid`
    const near = didYouMean(nearest(text, words))
    throw new CellFault(`${what}: use ${words.slice(0, -1).join(', ')} or ${words.at(-1)}${near}`)
  }
}

/** The words that `A or B` or `not A` means; none for anything else. */
function listMeant<T extends string>(text: string, words: readonly T[]): readonly T[] {
  const [, not, list = ''] = /^(not\s+)?(.*)$/is.exec(text) ?? []
  const parts = list.toLowerCase().split(/\s+(?:or|and)\s+|\s*[,;/|]\s*/)
  if (parts.some((part) => words.every((word) => word.toLowerCase() !== part))) return []
  return words.filter((word) => parts.includes(word.toLowerCase()) === (not === undefined))
}

/** Throws CellFault. */
export function parseYesNo(text: string): boolean {
  return choice(['yes', 'no'])(text) === 'yes'
}

/** A permanent id that no row above has; added to `rowOfId`. Throws CellFault. */
export function parseRuleId(text: string, row: number, rowOfId: Map<string, number>): string {
  if (text === '') throw new CellFault('is blank: give the rule a permanent id')
  if (!RULE_ID.test(text))
    throw new CellFault(
      `"${text}" is not a rule id: use at most 64 letters, digits, ".", "_" and "-", a letter or digit first`,
    )
  return unused(text, row, rowOfId, (above) => `the rule in row ${above}: give each rule an id of its own`)
}

/** A sentence that no row above has; added to `rowOfName`. Throws CellFault. */
export function parsePromiseName(text: string, row: number, rowOfName: Map<string, number>): string {
  if (text === '') throw new CellFault('is blank: say in one sentence what is promised')
  const name = parseReason(text)
  return unused(name, row, rowOfName, (above) => `the promise in row ${above}: say how this one differs`)
}

function unused(
  text: string,
  row: number,
  rowOf: Map<string, number>,
  fault: (above: number) => string,
): string {
  const above = rowOf.get(text)
  if (above !== undefined) throw new CellFault(`"${text}" is already ${fault(above)}`)
  rowOf.set(text, row)
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
