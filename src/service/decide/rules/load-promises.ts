import { FACT_COLUMNS } from '../decision/facts.ts'
import { OUTCOMES, type Outcome, type RuleResult } from '../decision/result.ts'
import { isAnyOther } from '../event/event-type-pattern.ts'
import { CHANNELS, type Channel } from '../party/channel.ts'
import { type EventTypeCell, eventTypeCells, parsePromisedEventTypes } from './event-type-cell.ts'
import { choice, orAny, orBlank, parsePromiseName, parseReason } from './parse-cells.ts'
import { readSheet, type SheetForm, type SheetRow } from './read-sheet.ts'
import type { Rule } from './rule.ts'
import { PromisesError } from './table-errors.ts'
import { readWhen, WHEN_COLUMNS, type When } from './when.ts'

/** In their usual order. */
const PROMISE_COLUMNS = ['promise', ...WHEN_COLUMNS, 'outcome', 'send by', 'reason'] as const
type Column = (typeof PROMISE_COLUMNS)[number]

/** A missing column of a fact means any value. */
export const PROMISE_SHEET: SheetForm<Column> = {
  what: 'promise',
  columns: PROMISE_COLUMNS,
  optional: FACT_COLUMNS,
}

export type Expectation = Outcome | `not ${Outcome}` | `not by ${Channel}`

type IsMet = (result: RuleResult) => boolean

/** The expectations of a promise, by its cell. */
export const EXPECTATIONS: ReadonlyMap<Expectation, IsMet> = new Map<Expectation, IsMet>([
  ...OUTCOMES.map((wanted): [Expectation, IsMet] => [wanted, ({ outcome }) => outcome === wanted]),
  ...OUTCOMES.map((wanted): [Expectation, IsMet] => [`not ${wanted}`, ({ outcome }) => outcome !== wanted]),
  ...CHANNELS.map((avoided): [Expectation, IsMet] => [
    `not by ${avoided}`,
    ({ outcome, channel }) => outcome !== 'SEND' || channel !== avoided,
  ]),
])

/** A condition that the rule table must meet in every situation it covers: one row of `rules/promises.csv`. */
export interface RulePromise {
  readonly row: number
  /** A sentence for people; unique among the promises. */
  readonly name: string
  readonly when: When
  readonly expected: Expectation
  /** Only with SEND; null means any channel. */
  readonly sendBy: Channel | null
  /** Only with SKIP and FAIL; null means any reason. */
  readonly reason: string | null
}

/** An event type cell may also be `any other`: types that none of `rules` names. Throws PromisesError with every fault. */
export function loadPromises(
  csvText: string,
  rules: readonly Rule[],
  knownEventTypes: readonly string[] = [],
): readonly RulePromise[] {
  const ruleCells = eventTypeCells(rules)
  const parseEventTypes = (text: string) => parsePromisedEventTypes(text, ruleCells, knownEventTypes)
  const rowOfName = new Map<string, number>()
  const { rows, faults } = readSheet(csvText, PROMISE_SHEET, (row) =>
    readPromise(row, parseEventTypes, rowOfName),
  )
  if (faults.length > 0) throw new PromisesError(faults)
  return rows as readonly RulePromise[]
}

/** The promises that name event types themselves. */
export function listNaming(promises: readonly RulePromise[]): readonly RulePromise[] {
  return promises.filter(({ when }) => !isAnyOther(when.eventType?.text ?? ''))
}

/** All cells of one row; undefined for each faulty one. */
function readPromise(
  sheetRow: SheetRow<Column>,
  parseEventTypes: (text: string) => EventTypeCell,
  rowOfName: Map<string, number>,
): { [K in keyof RulePromise]: unknown } {
  const { row, read, note } = sheetRow
  const promise = {
    row,
    name: read('promise', (text) => parsePromiseName(text, row, rowOfName)),
    when: readWhen(sheetRow, parseEventTypes),
    expected: read('outcome', choice([...EXPECTATIONS.keys()])),
    sendBy: read('send by', orAny(choice(CHANNELS))),
    reason: read('reason', orBlank(parseReason)),
  }
  const { expected, sendBy, reason } = promise
  if (expected === undefined) return promise
  if (sendBy && expected !== 'SEND')
    note('send by', `"${sendBy}" with ${expected}: leave it blank, only SEND has one`)
  if (reason && expected !== 'SKIP' && expected !== 'FAIL')
    note('reason', `"${reason}" with ${expected}: leave it blank, only SKIP and FAIL have one`)
  return promise
}
