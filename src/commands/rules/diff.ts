import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Command } from 'commander'
import { RULE_TABLE, readText, ruleTableOf } from '../../app/rule-files.ts'
import { diffRuleTables } from '../../core/rules/diff.ts'
import { describeDiff } from '../../core/rules/diff-text.ts'
import { checkRevision, readFileAt } from '../terminal/git.ts'
import { fileOption, helpEnd } from '../terminal/options.ts'
import { print } from '../terminal/print.ts'

export const diffCommand = new Command('diff')
  .description('describe in sentences which decisions differ from those of an earlier rule table')
  .requiredOption(
    '--against <git revision or file>',
    'the earlier rule table; an existing file takes precedence',
  )
  .addOption(fileOption('--table <file>', 'the current rule table', RULE_TABLE))
  .option('--json', 'as one JSON value')
  .addHelpText(
    'after',
    helpEnd('0 compared, 1 a table has faults or is not readable', 'rules diff --against main'),
  )
  .action(diff)

interface Options {
  readonly against: string
  readonly table: string
  readonly json?: true
}

async function diff({ against, table, json }: Options): Promise<void> {
  const before = await ruleTableOf(await readBefore(against, table), `the rule table of ${against}`)
  const difference = diffRuleTables(before, await ruleTableOf(await readText(table)))
  const sentences = describeDiff(difference)
  await print(...(json ? [JSON.stringify({ ...difference, sentences })] : sentences))
}

async function readBefore(against: string, table: string): Promise<string> {
  const isFile = await stat(against).then(
    (found) => found.isFile(),
    () => false,
  )
  if (isFile) return readText(against)
  await checkRevision(against, dirname(table), 'file')
  return readFileAt(against, table)
}
