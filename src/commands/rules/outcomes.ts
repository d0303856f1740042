import { writeFile } from 'node:fs/promises'
import { Command, Option } from 'commander'
import { OUTCOMES, RULE_TABLE, readText, ruleTableOf, TEMPLATE_EVENT_TYPES } from '../../app/rule-files.ts'
import { enumerate } from '../../core/rules/enumerate-situations.ts'
import { compareOutcomes, listOutcomes } from '../../core/rules/outcomes.ts'
import { fileOption, helpEnd } from '../terminal/options.ts'

export const outcomesCommand = new Command('outcomes')
  .description('list the outcome of every situation; compare it with the accepted one')
  .addOption(fileOption('--table <file>', 'the rule table', RULE_TABLE))
  .addOption(fileOption('--accepted <file>', 'the accepted outcomes', OUTCOMES))
  .option('--check', 'print only the lines that differ from the accepted ones')
  .addOption(new Option('--accept', 'write them as the accepted ones').conflicts(['check', 'json']))
  .option('--json', 'as one JSON value')
  .addHelpText(
    'after',
    helpEnd('0 done, 1 --check found a difference or a file has faults', 'rules outcomes --check'),
  )
  .action(outcomes)

interface Options {
  readonly table: string
  readonly accepted: string
  readonly check?: true
  readonly accept?: true
  readonly json?: true
}

async function outcomes({ table, accepted, check, accept, json }: Options): Promise<void> {
  const { rules } = await ruleTableOf(await readText(table), table)
  const actual = listOutcomes(await enumerate(rules, TEMPLATE_EVENT_TYPES), TEMPLATE_EVENT_TYPES)
  if (accept) return writeFile(accepted, actual)
  if (!check) {
    process.stdout.write(json ? `${JSON.stringify({ outcomes: actual })}\n` : actual)
    return
  }
  const difference = compareOutcomes(await readText(accepted), actual)
  const { gone, fresh } = difference
  const lines = [...gone.map((line) => `- ${line}\n`), ...fresh.map((line) => `+ ${line}\n`)]
  process.stdout.write(json ? `${JSON.stringify(difference)}\n` : lines.join(''))
  if (gone.length + fresh.length === 0) return
  outcomesCommand.error('not all outcomes were accepted: if they are right, run make rules-accept')
}
