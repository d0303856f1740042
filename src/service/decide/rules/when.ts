import { FACT_COLUMNS, FACT_LIST, type FactColumn, type FactKey, type KnownValue } from '../decision/facts.ts'
import type { EventTypeCell } from './event-type-cell.ts'
import { choice, orAny, parseYesNo } from './parse-cells.ts'
import type { SheetRow } from './read-sheet.ts'

/** Columns with the conditions of a row, in their usual order. */
export const WHEN_COLUMNS: readonly WhenColumn[] = ['event type', ...FACT_COLUMNS]
export type WhenColumn = 'event type' | FactColumn

/** Conditions of a row, which must all hold. Null means any value; another value matches only if the fact is known. */
export type When = { readonly eventType: EventTypeCell | null } & {
  readonly [K in FactKey]: KnownValue<K> | null
}

/** The cells of these columns; undefined for each faulty one. */
export function readWhen(
  { read }: Pick<SheetRow<WhenColumn>, 'read'>,
  parseEventTypes: (text: string) => EventTypeCell,
): { [K in keyof When]: When[K] | undefined } {
  const eventType = read('event type', orAny(parseEventTypes))
  const cells = FACT_LIST.map(([key, { column, values }]) => [
    key,
    read(
      column,
      orAny<string | boolean>(typeof values[0] === 'boolean' ? parseYesNo : choice(values as string[])),
    ),
  ])
  return { eventType, ...Object.fromEntries(cells) }
}
