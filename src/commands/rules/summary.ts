import { readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { Command } from 'commander'
import { OUTCOMES, PROMISES, RULE_TABLE, readText, sha256 } from '../../app/rule-files.ts'
import { type ChangeSummary, type Review, summaryToMarkdown } from '../../core/rules/change-summary.ts'
import { checkRuleFiles } from '../../core/rules/check-files.ts'
import { diffRuleTables } from '../../core/rules/diff.ts'
import { enumerate } from '../../core/rules/enumerate-situations.ts'
import { RuleTableError } from '../../core/rules/errors.ts'
import { PROMISE_COLUMNS } from '../../core/rules/load-promises.ts'
import { acceptedEventTypes, compareOutcomes, listOutcomes } from '../../core/rules/outcomes.ts'
import { COLUMNS } from '../../core/rules/rule.ts'
import { createRuleTable, type RuleTable } from '../../core/rules/table.ts'
import { checkTemplates } from '../../core/templates/check-templates.ts'
import { eventTypesOf, type TemplateFile } from '../../core/templates/compile.ts'
import { diffPreviews, previewTexts } from '../../core/templates/preview.ts'
import { readTemplates } from '../../core/templates/read-templates.ts'
import { TemplateError } from '../../core/templates/template.ts'
import { diffSheets } from '../../core/workbench/workbench.ts'
import { checkRevision, readFileAt } from '../terminal/git.ts'
import { TEMPLATES, templateFilesAgainst, templateFilesOf } from '../terminal/template-folder.ts'
import { reviewEnvelopeMap } from './check.ts'

export const summaryCommand = new Command('summary')
  .description('summarise for a pull request what is wrong with rules and texts, and what they change')
  .requiredOption('--against <git revision>', 'what the change is made to')
  .option('--json', 'as one JSON value instead of Markdown')
  .addHelpText(
    'after',
    `
Exit codes: 0 summarised, faults included, 1 the revision cannot be read, 2 wrong usage.

Example:
  $ notifications-service rules summary --against main`,
  )
  .action(summarise)

interface Options {
  readonly against: string
  readonly json?: true
}

async function summarise({ against, json }: Options): Promise<void> {
  await checkRevision(against, dirname(RULE_TABLE), 'git revision')
  const [before, after] = await Promise.all([versionAt(against), versionNow()])
  const known = eventTypesOf(after.templates)
  const checked = await checkRuleFiles(after.table, after.promises, known)
  const [tableBefore, tableAfter] = [await tableOf(before), await tableOf(after)]
  const outcomes = tableAfter && listOutcomes(await enumerate(tableAfter.rules, known), known)
  const summary: ChangeSummary = {
    reviews: [
      { file: 'rules/dispatch.csv', ...checked.table },
      { file: 'rules/promises.csv', ...checked.promises },
      await reviewEnvelopeMap(),
      ...reviewTemplates(after),
    ],
    diff: tableBefore && tableAfter && diffRuleTables(tableBefore, tableAfter),
    texts: diffTexts(before.templates, after.templates),
    rows: [
      ...diffSheets('promise', PROMISE_COLUMNS, before.promises, after.promises),
      ...diffSheets('rule', COLUMNS, before.table, after.table),
    ],
    outcomes: outcomes === null ? null : compareOutcomes(after.outcomes, outcomes),
  }
  process.stdout.write(json ? `${JSON.stringify(summary)}\n` : summaryToMarkdown(summary))
}

/** The files that people change. */
interface Version {
  readonly table: string
  readonly promises: string
  readonly templates: readonly TemplateFile[]
}

type VersionNow = Version & { readonly outcomes: string }

async function versionAt(revision: string): Promise<Version> {
  const [table, promises, templates] = await Promise.all([
    readFileAt(revision, RULE_TABLE),
    readFileAt(revision, PROMISES),
    templateFilesAgainst(revision, TEMPLATES),
  ])
  return { table, promises, templates }
}

async function versionNow(): Promise<VersionNow> {
  const [table, promises] = await Promise.all([readText(RULE_TABLE), readText(PROMISES)])
  const outcomes = await readFile(OUTCOMES, 'utf8').catch(() => '')
  return { table, promises, templates: templateFilesOf(TEMPLATES), outcomes }
}

function reviewTemplates({ templates, outcomes }: VersionNow): Review[] {
  const { faults, warnings } = checkTemplates(templates, { sha256, accepted: acceptedEventTypes(outcomes) })
  return [...faults, ...warnings].map((one) => {
    const file = relative('', join(TEMPLATES, one.file))
    const text = one.line === null ? one.text : `line ${one.line}: ${one.text}`
    return faults.includes(one)
      ? { file, faults: [text], warnings: [] }
      : { file, faults: [], warnings: [text] }
  })
}

/** Null where it has faults, which are told elsewhere. */
async function tableOf({ table, templates }: Version): Promise<RuleTable | null> {
  return createRuleTable(table, eventTypesOf(templates), sha256).catch(nullIfFaulty)
}

function diffTexts(before: readonly TemplateFile[], after: readonly TemplateFile[]) {
  try {
    const [old, now] = [before, after].map((files) => previewTexts(readTemplates(files, { sha256 })))
    return diffPreviews(old ?? [], now ?? [])
  } catch (error) {
    return nullIfFaulty(error)
  }
}

function nullIfFaulty(error: unknown): null {
  if (error instanceof RuleTableError || error instanceof TemplateError) return null
  throw error
}
