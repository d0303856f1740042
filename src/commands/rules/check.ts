import { Command } from 'commander'
import { ENVELOPE_MAP, RULE_TABLE, readEnvelopeMap, readRuleTable } from '../../rule-files.ts'

export const checkCommand = new Command('check')
  .description('check the rule table and the envelope map')
  .option('--table <file>', 'the rule table', RULE_TABLE)
  .option('--envelope <file>', 'the envelope map', ENVELOPE_MAP)
  .addHelpText('after', '\nExample:\n  $ notifications-service rules check --table candidate.csv')
  .action(check)

async function check({ table, envelope }: { table: string; envelope: string }): Promise<void> {
  const { rules } = await readRuleTable(table)
  await readEnvelopeMap(envelope)
  process.stdout.write(`${table}: ${rules.length} rules, no fault\n`)
}
