import { stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { compileRuleTable, RULE_TABLE, readText } from '../../app/rule-files.ts'
import { diffRuleTables } from '../../core/rules/diff.ts'
import { describeDiff } from '../../core/rules/diff-text.ts'
import { findCopiedReasons } from '../../core/rules/find-copied-reasons.ts'
import type { RuleTable } from '../../core/rules/table.ts'
import { listEventTypes } from '../../core/templates/read-templates.ts'
import { describeFault } from '../../core/text/faults.ts'
import { checkRevision, listFilesAt, readFileAt } from '../terminal/git.ts'
import { fileOption, newCommand } from '../terminal/options.ts'
import { note, print } from '../terminal/print.ts'

export const diffCommand = newCommand('diff', {
  exitCodes: '0 compared, 1 a table has faults or is not readable',
  example: 'rules diff --against main',
})
  .description('describe in sentences which decisions differ from those of an earlier rule table')
  .requiredOption(
    '--against <git revision or file>',
    'the earlier rule table; an existing file takes precedence',
  )
  .addOption(fileOption('--table <file>', 'the current rule table', RULE_TABLE))
  .option('--json', 'as one JSON value')
  .action(diff)

interface Options {
  readonly against: string
  readonly table: string
  readonly json?: true
}

async function diff({ against, table, json }: Options): Promise<void> {
  const before = await tableBefore(against, table)
  const after = await compileRuleTable(await readText(table))
  const difference = diffRuleTables(before, after)
  const sentences = describeDiff(difference)
  const warnings = findCopiedReasons(after.rules, before.rules)
  for (const warning of warnings) note(`${relative('', table)}: warning: ${describeFault(warning)}`)
  await print(...(json ? [JSON.stringify({ ...difference, warnings, sentences })] : sentences))
}

/** The earlier table; at a git revision with the templates of that revision, to which `no template` refers. */
async function tableBefore(against: string, table: string): Promise<RuleTable> {
  const name = `the rule table of ${against}`
  const isFile = await stat(against).then(
    (found) => found.isFile(),
    () => false,
  )
  if (isFile) return compileRuleTable(await readText(against), name)
  await checkRevision(against, dirname(table), 'file')
  const files = await listFilesAt(against, join(dirname(table), '../templates'))
  const eventTypes = listEventTypes(files.map((file) => ({ name: file, text: '' })))
  return compileRuleTable(await readFileAt(against, table), name, eventTypes)
}
