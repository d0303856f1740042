import { writeFile } from 'node:fs/promises'
import { Option } from 'commander'
import { readTemplateFiles } from '../../authoring/templates/template-files.ts'
import { OUTCOMES_FILE, RULE_TABLE, readText, TEMPLATES } from '../../service/app/authored-files.ts'
import { sha256 } from '../../service/app/sha256.ts'
import { enumerate } from '../../service/decide/rules/first-match.ts'
import { listTypesWithTemplate } from '../../service/decide/templates/template.ts'
import { fileOption, newCommand } from '../../terminal/options.ts'
import { note } from '../../terminal/print.ts'
import type { World } from '../../terminal/world.ts'
import { compileRuleTable } from '../check/compile-table.ts'
import { previewTexts } from '../templates/preview.ts'
import { readTemplates } from '../templates/read-templates.ts'
import { acceptedEventTypes, listOutcomes, rewordOutcomes } from './list-outcomes.ts'

export const outcomesCommand = (world: World) =>
  newCommand('outcomes', {
    exitCodes: '0 done, 1 a file has faults',
    example: 'rules outcomes',
  })
    .description('list the outcome of every situation, and each text as members read it')
    .addOption(fileOption('--table <file>', 'the rule table', RULE_TABLE))
    .option('--reworded', 'list the accepted outcomes instead, in the words of this version')
    .addOption(new Option('--accept', 'write them as the accepted ones').conflicts('json'))
    .option('--json', 'as one JSON value')
    .action((options: Options) => outcomes(world, options))

interface Options {
  readonly table: string
  readonly reworded?: true
  readonly accept?: true
  readonly json?: true
}

async function outcomes(world: World, options: Options): Promise<void> {
  const accepted = await readText(OUTCOMES_FILE).catch(() => '')
  const reworded = rewordOutcomes(accepted)
  const listed = options.reworded ? reworded : await listPresent(options.table, accepted)
  if (!options.reworded && reworded !== accepted.replaceAll('\r\n', '\n'))
    note(
      world,
      'rules/outcomes.txt has words of an earlier version: commit what "rules outcomes --reworded" prints, and the diff of a later commit shows only changed decisions and texts',
    )
  if (options.accept) await writeFile(OUTCOMES_FILE, listed)
  else world.stdout.write(options.json ? `${JSON.stringify({ outcomes: listed })}\n` : listed)
}

async function listPresent(table: string, outcomes: string): Promise<string> {
  const { rules } = await compileRuleTable(await readText(table), { name: table })
  const accepted = acceptedEventTypes(outcomes)
  const templates = readTemplates(readTemplateFiles(TEMPLATES), { sha256, accepted })
  const enumeration = await enumerate(rules, listTypesWithTemplate(templates))
  return listOutcomes(enumeration, previewTexts(templates))
}
