import { Command } from 'commander'
import { diffRuleTables } from '../../core/rules/diff.ts'
import { describeDiff } from '../../core/rules/diff-text.ts'
import { RULE_TABLE, readRuleTable } from '../../rule-files.ts'

export const diffCommand = new Command('diff')
  .description('say in sentences what the rule table decides otherwise than another one')
  .requiredOption('--against <file>', 'the table to compare with')
  .option('--table <file>', 'the rule table', RULE_TABLE)
  .addHelpText('after', '\nExample:\n  $ notifications-service rules diff --against old.csv')
  .action(diff)

async function diff({ against, table }: { against: string; table: string }): Promise<void> {
  const difference = diffRuleTables(await readRuleTable(against), await readRuleTable(table))
  process.stdout.write(`${describeDiff(difference).join('\n')}\n`)
}
