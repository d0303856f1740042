import type { Enumeration } from '../../service/decide/rules/first-match.ts'
import { listCases } from '../../service/decide/rules/judge-rules.ts'
import { PROMISE_SHEET, type RulePromise } from '../../service/decide/rules/load-promises.ts'
import { readSheet, type SheetForm } from '../../service/decide/rules/read-sheet.ts'
import { RULE_SHEET } from '../../service/decide/rules/rule.ts'
import { enumeratedTable, type RuleTable } from '../../service/decide/rules/table.ts'
import { RuleTableError } from '../../service/decide/rules/table-errors.ts'
import { type Fault, wholeFault } from '../../service/text/faults.ts'
import { type Against, checkRuleFiles, type FileReport } from '../check/check-files.ts'
import { checkPromises, type PromiseFault } from '../check/check-promises.ts'
import type { Shorter } from '../check/find-shorter.ts'
import { acceptedEventTypes, compareOutcomes, listOutcomes } from '../outcomes/list-outcomes.ts'
import { checkTemplates, type TemplateReport } from '../templates/check-templates.ts'
import { findConflict } from '../templates/parse.ts'
import { diffPreviews } from '../templates/preview.ts'
import { listEventTypes, type TemplateFile } from '../templates/read-templates.ts'
import { weighByFile, withOrigin } from '../traffic/weigh-change.ts'
import { type ChangeSummary, summaryToMarkdown } from './change-summary.ts'
import { diffRuleTables } from './compare-tables.ts'
import { type Cells, diffRows, type RowChange } from './diff-rows.ts'

/** The files that people change. */
export interface Files {
  readonly table: string
  readonly promises: string
  readonly templates: readonly TemplateFile[]
}

/** The files in force, with which the workbench starts. */
export interface WorkbenchStart extends Files {
  /** The accepted outcomes and texts, `rules/outcomes.txt`. */
  readonly outcomes: string
  /** `rules/traffic.csv`; null if there is none. */
  readonly traffic: string | null
  /** Null if unknown. */
  readonly repositoryUrl: string | null
}

/** Templates and their checks; null if they have faults. */
export interface Texts {
  readonly eventTypes: readonly string[]
  readonly report: TemplateReport
}

/** `outcomes`: the accepted ones, against which file names are checked. `seen`: types of recent events, which are also valid. */
export function readTexts(files: readonly TemplateFile[], outcomes: string, seen: readonly string[]): Texts {
  const accepted = acceptedEventTypes(outcomes)
  const options = { sha256: noRevision, accepted, seen }
  return { eventTypes: listEventTypes(files), report: checkTemplates(files, options) }
}

/** Drafts have no recorded revision. */
const noRevision = () => ''

/** Files and their checks. */
export interface Version {
  readonly files: Pick<Files, 'table' | 'promises'>
  readonly texts: Texts
  readonly table: FileReport
  readonly promises: FileReport<PromiseFault>
  readonly shorter: readonly Shorter[]
  readonly promised: readonly RulePromise[]
  /** Null if the rules cannot be read. */
  readonly enumeration: Enumeration | null
  /** Null if it has faults. */
  readonly ruleTable: RuleTable | null
  /** All outcomes and texts, in the form of the accepted file; null if one of the files has faults. */
  readonly outcomes: string | null
}

export async function loadVersion(
  files: Version['files'],
  texts: Texts,
  against: Against = {},
): Promise<Version> {
  const reports = await checkRuleFiles(files.table, files.promises, texts.eventTypes, against)
  const version = { files, texts, ...reports }
  const { enumeration } = reports
  try {
    if (enumeration === null) return { ...version, ruleTable: null, outcomes: null }
    const ruleTable = enumeratedTable(enumeration, files.table, noRevision())
    const { previews } = texts.report
    return { ...version, ruleTable, outcomes: previews && listOutcomes(enumeration, previews) }
  } catch (error) {
    if (error instanceof RuleTableError) return { ...version, ruleTable: null, outcomes: null }
    throw error
  }
}

/**
 * All effects of a change. `outcomes`: the accepted ones; `traffic`: the text of `rules/traffic.csv`, if any; `trafficBefore`: its
 * text before the change.
 */
export function summariseChange(
  before: Version,
  after: Version,
  outcomes: string,
  traffic: string | null,
  trafficBefore = traffic,
): ChangeSummary {
  const { table, promises, texts, ruleTable } = after
  const tables = before.ruleTable && ruleTable && { before: before.ruleTable, after: ruleTable }
  const diff = tables && diffRuleTables(tables.before, tables.after)
  const weighed = weighByFile(traffic, tables, diff, after.promised)
  const { faults, warnings } = texts.report
  const { templates: textsBefore } = before.texts.report
  return {
    reviews: [
      { file: 'rules/dispatch.csv', ...table },
      { file: 'rules/promises.csv', ...promises },
      ...[...faults, ...warnings].map((remark) => {
        const remarks = [
          wholeFault(remark.line === null ? remark.text : `line ${remark.line}: ${remark.text}`),
        ]
        const isFault = faults.includes(remark)
        return {
          file: `templates/${remark.file}`,
          faults: isFault ? remarks : [],
          warnings: isFault ? [] : remarks,
        }
      }),
      { file: 'rules/outcomes.txt', faults: conflictsIn(outcomes), warnings: [] },
      { file: 'rules/traffic.csv', faults: weighed.faults, warnings: [] },
    ],
    diff,
    traffic: withOrigin(weighed.effect, trafficBefore, traffic),
    texts: textsBefore && texts.report.templates && diffPreviews(textsBefore, texts.report.templates),
    rows: [
      ...diffSheets('promise', PROMISE_SHEET, before.files.promises, after.files.promises),
      ...diffSheets('rule', RULE_SHEET, before.files.table, after.files.table),
    ],
    shorter: after.shorter.map(({ text }) => text),
    nowPossible:
      after.enumeration === null ? [] : findNowPossible(before.promised, after.promised, after.enumeration),
    outcomes: after.outcomes === null ? null : compareOutcomes(outcomes, after.outcomes),
  }
}

function conflictsIn(outcomes: string): Fault[] {
  const conflict = findConflict(outcomes)
  return conflict === null ? [] : [{ row: conflict.line, column: null, text: conflict.text }]
}

/** Results of the table that a deleted or changed promise forbade. */
function findNowPossible(
  before: readonly RulePromise[],
  after: readonly RulePromise[],
  enumeration: Enumeration,
): string[] {
  const kept = new Set(after.map(promiseKey))
  const gone = before.filter((promise) => !kept.has(promiseKey(promise)))
  const broken = checkPromises(gone, listCases(gone, enumeration), () => null).filter(
    ({ column }) => column === null,
  )
  // The last line explains how to exempt it.
  return broken.flatMap(({ text, lines = [], exclude }) => [
    text,
    ...lines.slice(0, exclude ? -1 : undefined),
  ])
}

function promiseKey({ row: _, name: __, ...promise }: RulePromise): string {
  return JSON.stringify(promise)
}

/** The text of a pull request with this change. */
export function formatProposal(summary: ChangeSummary): string {
  const text = summaryToMarkdown(summary)
  return text.length > PROPOSAL_LENGTH_MAX ? `${text.slice(0, PROPOSAL_LENGTH_MAX)}…` : text
}

/** Below the limit for the text of a pull request. */
const PROPOSAL_LENGTH_MAX = 60_000

/** Splits a sheet into cells, in the usual order of columns. `rows` is null if that fails; `columns` are the file's own. */
export function readGrid(csvText: string, form: SheetForm<string>) {
  const { columns, rows, faults } = readSheet<string, Cells>(csvText, form, ({ read }) =>
    form.columns.map((column) => read(column, (text) => text) ?? ''),
  )
  return { columns, rows: faults.length === 0 ? rows : null, faults }
}

/**
 * The file of a grid, cell for cell, with its own columns (by default all) and any other with a filled cell. Unlike in a report,
 * formulas get no apostrophe, since a rule table must come back unchanged. Quotes appear only if needed, so that few lines change.
 */
export function gridToCsv(columns: readonly string[], rows: readonly Cells[], own = columns): string {
  const written = columns.reduce((kept, column, at) => {
    if (kept.includes(column) || rows.every((row) => row[at] === '')) return kept
    const before = columns.slice(0, at).findLast((name) => kept.includes(name))
    return kept.toSpliced(before === undefined ? 0 : kept.indexOf(before) + 1, 0, column)
  }, own)
  const places = written.map((column) => columns.indexOf(column))
  return [columns, ...rows]
    .map((cells) => `${places.map((at) => csvCell(cells[at] ?? '')).join(',')}\n`)
    .join('')
}

function csvCell(value: string): string {
  const line = value.replace(/[\r\n]+/g, ' ').trim()
  return /[",;\t]/.test(line) ? `"${line.replaceAll('"', '""')}"` : line
}

/** The changed rows of a sheet; none if one version cannot be split into cells. */
function diffSheets(
  what: RowChange['what'],
  form: SheetForm<string>,
  before: string,
  after: string,
): RowChange[] {
  const [old, now] = [before, after].map((text) => readGrid(text, form).rows)
  return old && now ? diffRows(what, form.columns, old, now) : []
}

/** Branch of the reviewed files, against which a change is proposed. */
const BRANCH = 'main'

/**
 * URL of the forge's page for uploading files into a folder (blank: the whole repository) and proposing the change. Uses GitLab's
 * paths if the host's name contains it, else GitHub's.
 */
export function buildProposeUrl(repositoryUrl: string, folder: string): string {
  const isGitLab = new URL(repositoryUrl).hostname.split('.').includes('gitlab')
  const repository = repositoryUrl.replace(/\.git$/, '')
  return [repository, isGitLab ? '-/tree' : 'upload', BRANCH, folder].filter(Boolean).join('/')
}
