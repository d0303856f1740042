import { z } from 'zod'
import { diffRows, type RowChange } from '../rules/diff-rows.ts'
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

/** The changes of rows between two sheets; none where one of them cannot be split into cells. */
export function diffSheets(
  what: RowChange['what'],
  columns: readonly string[],
  before: string,
  after: string,
): RowChange[] {
  const [old, now] = [before, after].map((text) => readGrid(text, columns, what).grid?.rows)
  // The last column of the rules: a new sentence is told with the decisions that it explains.
  const told = columns.filter((column) => column !== 'because')
  return old && now ? diffRows(what, told, old, now) : []
}

const file = z.object({
  name: z.string(),
  grid,
  /** The values of a column, besides blank. Columns that take any text are absent. */
  choices: z.record(z.string(), z.array(z.string())),
})

/** The files in force, with which the workbench starts. */
export const workbenchStart = z.object({
  revision: z.string(),
  table: file,
  promises: file,
  /** Where somebody can upload the files and propose the change; null: not known. */
  proposeUrl: z.string().nullable(),
  /** Event types with a template. */
  eventTypes: z.array(z.string()),
})
export type WorkbenchStart = Readonly<z.infer<typeof workbenchStart>>

/** Where reviewed files live: what a change is proposed against. */
const BRANCH = 'main'

/**
 * The page of a forge on which somebody can upload files of a folder and propose the change: by GitLab's paths where the
 * host's name says so, else by GitHub's.
 */
export function proposeUrlOf(repositoryUrl: string, folder: string): string {
  const isGitLab = new URL(repositoryUrl).hostname.split('.').includes('gitlab')
  const repository = repositoryUrl.replace(/\.git$/, '')
  return `${repository}/${isGitLab ? '-/tree' : 'upload'}/${BRANCH}/${folder}`
}
