import {
  buildFacts,
  cellText,
  FACT_COLUMNS,
  FACT_LIST,
  FACTS,
  PARTY_STATES,
  type RuleFacts,
} from '../../service/decide/decision/facts.ts'
import { choice } from '../../service/decide/rules/parse-cells.ts'
import { readSheet, type SheetForm } from '../../service/decide/rules/read-sheet.ts'
import { CellFault } from '../../service/decide/rules/table-errors.ts'
import { csvList } from '../../service/text/csv.ts'
import type { Fault } from '../../service/text/faults.ts'

/** Events with equal facts. */
export interface TrafficGroup {
  readonly facts: RuleFacts
  readonly count: number
}

/** Events by their facts, in a period of whole days in UTC. */
export interface Traffic {
  /** The first and the last day, such as 2026-10-29. */
  readonly firstDay: string
  readonly lastDay: string
  /** Largest first. */
  readonly groups: readonly TrafficGroup[]
  /** Events in groups that are too small to be shown, or whose facts this version does not know. */
  readonly restCount: number
}

const REST = '(others)'
const COLUMNS = ['event type', ...FACT_COLUMNS, 'events', 'first day', 'last day'] as const
type Column = (typeof COLUMNS)[number]

/** Another version may have written the file, with other facts. */
const SHEET: SheetForm<Column> = { what: 'group', columns: COLUMNS, optional: FACT_COLUMNS, isPast: true }
const DAY = /^\d{4}-\d\d-\d\d$/

/** `rules/traffic.csv`. */
export function formatTraffic({ firstDay, lastDay, groups, restCount }: Traffic): string {
  const { head, formatLine } = csvList(COLUMNS)
  const period = { 'first day': firstDay, 'last day': lastDay }
  const lines = groups.map(({ facts, count }) => {
    const cells = FACT_LIST.map(([key, { column }]) => [column, cellText(facts[key])])
    return { 'event type': facts.eventType, ...Object.fromEntries(cells), events: count, ...period }
  })
  const rest = { 'event type': REST, events: restCount, ...period }
  return [head, ...[...lines, rest].map(formatLine)].join('').replaceAll('\r\n', '\n')
}

/** The event types in the text of `rules/traffic.csv`; none without the file or if it has faults. */
export function listTrafficTypes(text: string | null): string[] {
  const { traffic } = text === null ? { traffic: null } : readTraffic(text)
  return [...new Set(traffic?.groups.map(({ facts }) => facts.eventType))]
}

/** Reads `rules/traffic.csv`. `traffic` is null if there are faults. */
export function readTraffic(text: string): {
  readonly traffic: Traffic | null
  readonly faults: readonly Fault[]
} {
  const { rows, faults } = readSheet(text, SHEET, ({ read }) => {
    const eventType = read('event type', String)
    const party = read('party', (cell) => (cell === '' ? 'found' : choice(PARTY_STATES)(cell)))
    const facts = buildFacts(
      eventType ?? '',
      party ?? 'found',
      (key, { values, usual }) =>
        read(FACTS[key].column, (cell) => {
          const value = cell === '' ? usual : values.find((allowed) => cellText(allowed) === cell)
          if (value === undefined)
            throw new CellFault(`"${cell}" is unknown: it is ${values.map(cellText).join(', ')}`)
          return value
        }) ?? usual,
    )
    return {
      isRest: eventType === REST,
      group: { facts, count: read('events', parseCount) ?? 0 },
      firstDay: read('first day', parseDay) ?? '',
      lastDay: read('last day', parseDay) ?? '',
    }
  })
  const [first] = rows
  if (faults.length > 0 || first === undefined) return { traffic: null, faults }
  const { firstDay, lastDay } = first
  const groups = rows.filter(({ isRest }) => !isRest).map(({ group }) => group)
  const restCount = rows.reduce((sum, { isRest, group }) => sum + (isRest ? group.count : 0), 0)
  return { traffic: { firstDay, lastDay, groups, restCount }, faults }
}

function parseCount(cell: string): number {
  if (!/^\d{1,15}$/.test(cell)) throw new CellFault(`"${cell}" is not a number of events`)
  return Number(cell)
}

function parseDay(cell: string): string {
  if (!DAY.test(cell)) throw new CellFault(`"${cell}" is not a day such as 2026-10-29`)
  return cell
}
