import { z } from 'zod'
import { summaryToMarkdown } from '../rules/change-summary.ts'
import { checkRuleFiles, type FileReport } from '../rules/check-files.ts'
import { CHANGE_KINDS, diffRuleTables, kindOf, type RuleTableDiff } from '../rules/diff.ts'
import { type RowChange, summariseRows } from '../rules/diff-rows.ts'
import { describeRest, groupChanges, summariseDiff } from '../rules/diff-text.ts'
import { RuleTableError } from '../rules/errors.ts'
import { PROMISE_COLUMNS } from '../rules/load-promises.ts'
import { COLUMNS } from '../rules/rule.ts'
import type { RuleTable } from '../rules/table.ts'
import { diffSheets } from './workbench.ts'

/** A remark about a file, with the line and the column that it begins with, if it names them. */
export const placed = z.object({
  row: z.int().nullable(),
  column: z.string().nullable(),
  text: z.string(),
})
export type Placed = Readonly<z.infer<typeof placed>>

const PLACE = /^row (\d+)(?:, column "([^"]+)")?(?:: )?/

/** Takes the place off the front of a fault or a warning, as `rules check` words them. */
export function placeOf(said: string): Placed {
  const [front = '', row, column] = PLACE.exec(said) ?? []
  return {
    row: row === undefined ? null : Number(row),
    column: column ?? null,
    text: said.slice(front.length).trim(),
  }
}

/** Two files as somebody is about to propose them. */
export const candidate = z.object({ table: z.string(), promises: z.string() })
export type Candidate = Readonly<z.infer<typeof candidate>>

const reviewedFile = z.object({
  faults: z.array(placed),
  /** Further faults: how many, and the rows that have no others. */
  faultsLeftOut: z.object({ count: z.int(), rows: z.array(z.int()) }),
  warnings: z.array(placed),
  /** Null where its faults leave nothing to sum up. */
  summary: z.string().nullable(),
})

/** The results of `rules check` and `rules diff` for a candidate. */
export const review = z.object({
  table: reviewedFile,
  promises: reviewedFile,
  /** Rows of either file that were taken away or are written otherwise, in one line and one by one. */
  rows: z.object({ summary: z.string(), changes: z.array(z.string()) }),
  /** All of it as Markdown, for a pull request. */
  proposal: z.string(),
  /** The changes against the table in force; null if the candidate is unusable. */
  diff: z
    .object({
      summary: z.string(),
      groups: z.array(
        z.object({
          kind: z.enum(CHANGE_KINDS),
          count: z.int(),
          sentences: z.array(z.object({ sentence: z.string(), situations: z.array(z.string()) })),
          /** Further sentences. */
          leftOut: z.int(),
        }),
      ),
      rest: z.array(z.string()),
    })
    .nullable(),
})
export type Review = Readonly<z.infer<typeof review>>

/** Checks a candidate and compares it with the files in force. `tableOf` throws RuleTableError. */
export async function reviewCandidate(
  { table, promises }: Candidate,
  inForce: { readonly ruleTable: RuleTable; readonly promises: string },
  knownEventTypes: readonly string[],
  tableOf: (csvText: string) => Promise<RuleTable>,
): Promise<Review> {
  const report = await checkRuleFiles(table, promises, knownEventTypes)
  const diff = await diffAgainst(inForce.ruleTable, table, tableOf)
  const rows = [
    ...diffSheets('promise', PROMISE_COLUMNS, inForce.promises, promises),
    ...diffSheets('rule', COLUMNS, inForce.ruleTable.source, table),
  ]
  const reviews = [
    { file: 'rules/dispatch.csv', ...report.table },
    { file: 'rules/promises.csv', ...report.promises },
  ]
  const proposal = summaryToMarkdown({ reviews, diff, rows, texts: [], outcomes: null })
  return {
    table: placedIn(report.table),
    promises: placedIn(report.promises),
    rows: rowsIn(rows),
    proposal: proposal.length > PROPOSAL_LENGTH_MAX ? `${proposal.slice(0, PROPOSAL_LENGTH_MAX)}…` : proposal,
    diff: diff && inKinds(diff),
  }
}

/** Less than the text of a pull request may have. */
const PROPOSAL_LENGTH_MAX = 60_000

function rowsIn(changes: readonly RowChange[]): Review['rows'] {
  return {
    summary: summariseRows(changes),
    changes: changes.slice(0, SHOWN_COUNT_MAX).map(({ text }) => text),
  }
}

/** More than anybody reads; a file can have many thousands. */
const SHOWN_COUNT_MAX = 200

function placedIn({ faults, warnings, summary }: FileReport): Review['table'] {
  const all = faults.map(placeOf)
  const shown = all.slice(0, SHOWN_COUNT_MAX)
  const leftOut = all.slice(SHOWN_COUNT_MAX)
  const shownRows = new Set(shown.map(({ row }) => row))
  const rows = leftOut.flatMap(({ row }) => (row === null || shownRows.has(row) ? [] : [row]))
  return {
    faults: shown,
    faultsLeftOut: { count: leftOut.length, rows: [...new Set(rows)] },
    warnings: placedFew(warnings),
    summary,
  }
}

function placedFew(said: readonly string[]): Placed[] {
  const shown = said.slice(0, SHOWN_COUNT_MAX).map(placeOf)
  const leftOut = said.length - shown.length
  return leftOut === 0 ? shown : [...shown, { row: null, column: null, text: `and ${leftOut} more` }]
}

async function diffAgainst(
  inForce: RuleTable,
  table: string,
  tableOf: (csvText: string) => Promise<RuleTable>,
): Promise<RuleTableDiff | null> {
  try {
    return diffRuleTables(inForce, await tableOf(table))
  } catch (error) {
    if (error instanceof RuleTableError) return null
    throw error
  }
}

function inKinds(diff: RuleTableDiff): NonNullable<Review['diff']> {
  const groups = CHANGE_KINDS.map((kind) => {
    const changes = diff.changes.filter((change) => kindOf(change) === kind)
    const sentences = groupChanges({ ...diff, changes }).map(({ sentence, situations }) => ({
      sentence,
      situations: [...situations],
    }))
    return {
      kind,
      count: changes.length,
      sentences: sentences.slice(0, SHOWN_COUNT_MAX),
      leftOut: Math.max(0, sentences.length - SHOWN_COUNT_MAX),
    }
  })
  return {
    summary: summariseDiff(diff),
    groups: groups.filter(({ count }) => count > 0),
    rest: describeRest(diff),
  }
}
