import { writeFile } from 'node:fs/promises'
import { Option } from 'commander'
import { compileRuleTable, OUTCOMES, RULE_TABLE, readText, sha256, TEMPLATES } from '../../app/rule-files.ts'
import { readTemplateFiles } from '../../build/template-files.ts'
import { enumerate } from '../../core/rules/first-match.ts'
import { acceptedEventTypes, listOutcomes } from '../../core/rules/outcomes.ts'
import { previewTexts } from '../../core/templates/preview.ts'
import { readTemplates } from '../../core/templates/read-templates.ts'
import { fileOption, newCommand } from '../terminal/options.ts'

export const outcomesCommand = newCommand('outcomes', {
  exitCodes: '0 done, 1 a file has faults',
  example: 'rules outcomes',
})
  .description('list the outcome of every situation, and each text as members read it')
  .addOption(fileOption('--table <file>', 'the rule table', RULE_TABLE))
  .addOption(new Option('--accept', 'write them as the accepted ones').conflicts('json'))
  .option('--json', 'as one JSON value')
  .action(outcomes)

interface Options {
  readonly table: string
  readonly accept?: true
  readonly json?: true
}

async function outcomes({ table, accept, json }: Options): Promise<void> {
  const { rules } = await compileRuleTable(await readText(table), table)
  const accepted = acceptedEventTypes(await readText(OUTCOMES).catch(() => ''))
  const templates = readTemplates(readTemplateFiles(TEMPLATES), { sha256, accepted })
  const enumeration = await enumerate(rules, [...templates.byEventType.keys()])
  const actual = listOutcomes(enumeration, previewTexts(templates))
  if (accept) await writeFile(OUTCOMES, actual)
  else process.stdout.write(json ? `${JSON.stringify({ outcomes: actual })}\n` : actual)
}
