import { writeFile } from 'node:fs/promises'
import { Option } from 'commander'
import { readTemplateFiles } from '../../authoring/templates/template-files.ts'
import { OUTCOMES, RULE_TABLE, readText, sha256, TEMPLATES } from '../../service/app/rule-files.ts'
import { enumerate } from '../../service/decide/rules/first-match.ts'
import { fileOption, newCommand } from '../../terminal/options.ts'
import { compileRuleTable } from '../check/compile-table.ts'
import { previewTexts } from '../templates/preview.ts'
import { readTemplates } from '../templates/read-templates.ts'
import { acceptedEventTypes, listOutcomes } from './list-outcomes.ts'

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
