import { z } from 'zod'
import { readSheet } from '../rules/read-sheet.ts'
import { LATER_COLUMNS } from '../rules/when.ts'

/** A sheet as a grid: the text of each cell, under the columns in their usual order. */
export const grid = z.object({
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string())),
})
export type Grid = Readonly<z.infer<typeof grid>>

/** A sheet that can be shown as a grid, or why it cannot. */
export type ReadGrid =
  | { readonly grid: Grid; readonly faults: readonly [] }
  | { readonly grid: null; readonly faults: readonly string[] }

/** Splits a sheet into its cells, whatever is in them. `what` is what one row holds, such as "rule". */
export function readGrid(csvText: string, columns: readonly string[], what: string): ReadGrid {
  const { rows, faults } = readSheet<string, string[]>(csvText, columns, LATER_COLUMNS, what, ({ read }) =>
    columns.map((column) => read(column, (text) => text) ?? ''),
  )
  return faults.length === 0
    ? { grid: { columns: [...columns], rows: [...rows] }, faults: [] }
    : { grid: null, faults }
}
