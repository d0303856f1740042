import { squash } from '../../text/find-by-words.ts'
import { didYouMean, nearest } from '../../text/nearest.ts'
import {
  ANY_OTHER,
  ANY_TEMPLATE,
  isAboutTemplates,
  isAnyOther,
  NO_TEMPLATE,
  splitWords,
} from '../event/event-type-pattern.ts'
import { isWordForAny } from './parse-cells.ts'
import { CellFault } from './table-errors.ts'

/** An "event type" cell: a list of names and `claim.*` wildcards, or (`negated`) all but these. */
export interface EventTypeCell {
  /** The cell in canonical spelling: equal texts mean equal cells. */
  readonly text: string
  readonly negated: boolean
  readonly names: readonly string[]
  /** The prefix before each wildcard's `*`, including the dot. */
  readonly prefixes: readonly string[]
  /** Names marked `exactly`, which are not reported as typos. */
  readonly exactly: readonly string[]
}

const NAME = /^[\p{L}\p{N}._:/-]+$/u
const WILDCARD = /^[\p{L}\p{N}._:/-]+\.\*$/u

/**
 * Parses `claim.paid`, `claim.*`, `claim.paid or invoice.*`, or one of these after `not`, which negates the whole list; `no
 * template` (all but the known types) or `any template` (the known types). Names are compared exactly, and `exactly` before a
 * name marks it as no typo. Throws CellFault.
 */
export function parseEventTypeCell(text: string, knownEventTypes: readonly string[]): EventTypeCell {
  const words = splitWords(text)
  const phrase = words.join(' ')
  if (isAboutTemplates(phrase)) {
    return {
      text: phrase,
      negated: phrase === NO_TEMPLATE,
      names: knownEventTypes,
      prefixes: [],
      exactly: [],
    }
  }
  checkPhrases(words)
  const negated = words[0] === 'not'
  const exactly: string[] = []
  const list = words.slice(negated ? 1 : 0).filter((word, position, all) => {
    if (all[position - 1] === 'exactly') exactly.push(word)
    return word !== 'exactly'
  })
  if (list.length === 0) throw new CellFault(`"${text}" names no event type after "${words.at(-1)}"`)
  const items = list.filter((_, position) => position % 2 === 0)
  const separators = list.filter((_, position) => position % 2 === 1)
  const wrong = separators.find((separator) => separator !== 'or')
  if (wrong !== undefined) {
    const spaced = knownEventTypes.find((known) => squash(known) === squash(list.join('')))
    throw new CellFault(
      spaced === undefined
        ? `"${text}" has "${wrong}" where only "or" can stand${didYouMean(nearest(wrong, ['or']))}`
        : `"${text}" is not an event type${didYouMean(spaced)}`,
    )
  }
  if (items.length === separators.length)
    throw new CellFault(`"${text}" ends in "${words.at(-1)}": name one more event type`)
  for (const item of items) {
    if (isWordForAny(item) && !exactly.includes(item))
      throw new CellFault(`"${item}" is not an event type: leave the cell blank for any`)
    checkItem(item, text)
  }
  const duplicate = items.find((item, position) => items.indexOf(item) !== position)
  if (duplicate !== undefined) throw new CellFault(`"${text}" names ${duplicate} twice`)
  return {
    text: words.join(' '),
    negated,
    names: items.filter((item) => !item.endsWith('*')),
    prefixes: items.filter((item) => item.endsWith('*')).map((item) => item.slice(0, -1)),
    exactly,
  }
}

export function matchesEventType(cell: EventTypeCell, eventType: string): boolean {
  const listed =
    cell.names.includes(eventType) || cell.prefixes.some((prefix) => eventType.startsWith(prefix))
  return listed !== cell.negated
}

/** The event type cells of these rows, except blank ones, which match any. */
export function eventTypeCells(
  rows: readonly { readonly when: { readonly eventType: EventTypeCell | null } }[],
): EventTypeCell[] {
  return rows.map(({ when }) => when.eventType).filter((cell) => cell !== null)
}

/**
 * A promise's cell: as in the rule table, or `any other`, which matches the types that none of `ruleCells` covers, even by a
 * wildcard. Throws CellFault.
 */
export function parsePromisedEventTypes(
  text: string,
  ruleCells: readonly EventTypeCell[],
  knownEventTypes: readonly string[],
): EventTypeCell {
  if (!isAnyOther(splitWords(text).join(' '))) return parseEventTypeCell(text, knownEventTypes)
  const naming = ruleCells.filter((cell) => !isAboutTemplates(cell.text))
  return {
    text: ANY_OTHER,
    negated: true,
    names: naming.flatMap(({ names }) => names),
    prefixes: naming.flatMap(({ prefixes }) => prefixes),
    exactly: [],
  }
}

/** The cell that leaves out these event types too, named as in a cell; null if no cell can. `cell` null: any event type. */
export function excluding(cell: EventTypeCell | null, eventTypes: readonly string[]): string | null {
  const list = eventTypes.join(' or ')
  if (cell === null) return `not ${list}`
  const isList = !isAboutTemplates(cell.text) && !isAnyOther(cell.text)
  return isList && cell.negated ? `${cell.text} or ${list}` : null
}

/** Common words that the rule table does not know, or knows in another form. */
function checkPhrases(words: readonly string[]): void {
  const text = words.join(' ')
  if (text === ANY_OTHER)
    throw new CellFault(
      `"${text}" can stand only in the promises: leave the cell blank for any event type that no row above took, or write "${NO_TEMPLATE}"`,
    )
  if (/[,;]/.test(text)) {
    const list = text.replace(/[\s,;]+$/, '').replaceAll(/[\s,;]*[,;]\s*(or |and )?/g, ' or ')
    throw new CellFault(`"${text}" has a comma or semicolon: write "${list}"`)
  }
  const inside = [NO_TEMPLATE, ANY_TEMPLATE].find((phrase) => text.includes(phrase))
  if (inside !== undefined) throw new CellFault(`"${text}": "${inside}" can stand only by itself`)
}

function checkItem(item: string, text: string): void {
  if (item === 'not') throw new CellFault(`"${text}": "not" can stand only once, in front of the whole list`)
  if (item === 'or') throw new CellFault(`"${text}": "or" must stand between two event types`)
  if (NAME.test(item) || WILDCARD.test(item)) return
  if (item.includes('*')) {
    throw new CellFault(
      `"${item}" is not a wildcard: only the form claim.* is one (leave the cell blank for any event type)`,
    )
  }
  throw new CellFault(
    `"${item}" is not an event type: use letters, digits, ".", "_", "-", ":" and "/" only, with "or" between event types`,
  )
}
