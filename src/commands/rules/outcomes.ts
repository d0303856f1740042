import { writeFile } from 'node:fs/promises'
import { Command, Option } from 'commander'
import { loadRuleTable, OUTCOMES, RULE_TABLE, readText, TEMPLATE_EVENT_TYPES } from '../../app/rule-files.ts'
import { enumerate } from '../../core/rules/first-match.ts'
import { listOutcomes } from '../../core/rules/outcomes.ts'
import { fileOption, helpEnd } from '../terminal/options.ts'

export const outcomesCommand = new Command('outcomes')
  .description('list the outcome of every situation')
  .addOption(fileOption('--table <file>', 'the rule table', RULE_TABLE))
  .addOption(new Option('--accept', 'write them as the accepted ones').conflicts('json'))
  .option('--json', 'as one JSON value')
  .addHelpText('after', helpEnd('0 done, 1 a file has faults', 'rules outcomes'))
  .action(outcomes)

interface Options {
  readonly table: string
  readonly accept?: true
  readonly json?: true
}

async function outcomes({ table, accept, json }: Options): Promise<void> {
  const { rules } = await loadRuleTable(await readText(table), table)
  const actual = listOutcomes(await enumerate(rules, TEMPLATE_EVENT_TYPES), TEMPLATE_EVENT_TYPES)
  if (accept) await writeFile(OUTCOMES, actual)
  else process.stdout.write(json ? `${JSON.stringify({ outcomes: actual })}\n` : actual)
}
