import { gridToCsv } from '../../src/authoring/diff/review.ts'
import { cellText, FACT_COLUMNS, FACT_LIST, type FactKey } from '../../src/service/decide/decision/facts.ts'
import type { Channel } from '../../src/service/decide/party/channel.ts'
import { PROMISE_SHEET } from '../../src/service/decide/rules/load-promises.ts'
import { COLUMNS } from '../../src/service/decide/rules/rule.ts'
import { DEFAULT_TABLE } from './default-table.ts'

/** Cells by column heading. A missing one is blank. */
export type Row = Readonly<Record<string, string>>

/** The cells that matter, by fact or column; a fact's value may be written as a cell or as it is. */
type Cells = { readonly [K in FactKey]?: string | boolean } & {
  readonly eventType?: string
  readonly outcome?: string
  readonly sendBy?: Channel | (string & {})
  readonly reason?: string
}

const HEADINGS = new Map<string, string>([
  ['eventType', 'event type'],
  ['sendBy', 'send by'],
  ...FACT_LIST.map(([key, { column }]): [string, string] => [key, column]),
])

function rowOf(cells: object): Row {
  return Object.fromEntries(
    Object.entries(cells).map(([key, value]) => [HEADINGS.get(key) ?? key, cellText(value)]),
  )
}

/** Rule "a", which skips for reason "x" unless the cells say otherwise. */
export function rule(cells: Cells & { readonly rule?: string; readonly because?: string } = {}): Row {
  const reason = cells.outcome === 'SEND' ? '' : 'x'
  return rowOf({ rule: 'a', outcome: 'SKIP', reason, because: 'Y.', ...cells })
}

/** Promise "a", that nothing is sent, unless the cells say otherwise. */
export function promise(cells: Cells & { readonly promise?: string } = {}): Row {
  return rowOf({ promise: 'a', outcome: 'not SEND', ...cells })
}

/** The file of a rule table with these rows, in all columns of this version and those that only the rows have. */
export const table = (...rows: Row[]) => toCsv([...new Set([...COLUMNS, ...rows.flatMap(Object.keys)])], rows)
/** The file of promises with these rows. */
export const promises = (...rows: Row[]) => toCsv(PROMISE_SHEET.columns, rows)

function toCsv(columns: readonly string[], rows: readonly Row[]): string {
  return gridToCsv(
    columns,
    rows.map((row) => columns.map((column) => row[column] ?? '')),
  )
}

/** The file with these rows above the one of this name, in the file's columns and those of facts that it lacks; at its end if no name is given. */
export function above(name: string | null, rows: readonly Row[], csvText = DEFAULT_TABLE): string {
  const [first = '', ...rest] = csvText.trimEnd().split('\n')
  const blanks = FACT_COLUMNS.filter((column) => !first.split(',').includes(column))
  const headings = [first, ...blanks].join(',')
  const lines = rest.map((line) => line + ','.repeat(blanks.length))
  const [, ...added] = toCsv(headings.split(','), rows).trimEnd().split('\n')
  const place = name === null ? lines.length : lines.findIndex((line) => line.startsWith(`${name},`))
  if (place < 0) throw new Error(`no row is named ${name}`)
  return `${[headings, ...lines.toSpliced(place, 0, ...added)].join('\n')}\n`
}
