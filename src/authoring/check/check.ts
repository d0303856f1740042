import { relative } from 'node:path'
import { ENVELOPE_MAP, PROMISES, RULE_TABLE, readText, TRAFFIC } from '../../service/app/authored-files.ts'
import { TEMPLATE_EVENT_TYPES } from '../../service/app/rule-files.ts'
import { describeFault, type Fault, listFaults } from '../../service/text/faults.ts'
import { workflowCommand } from '../../terminal/annotations.ts'
import { fileOption, newCommand } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import type { World } from '../../terminal/world.ts'
import { listTrafficTypes } from '../traffic/traffic-sheet.ts'
import { checkRuleFiles, type FileReport } from './check-files.ts'
import { describeUnguarded, findUnguarded } from './find-unguarded.ts'
import { reviewEnvelopeMap } from './review-envelope-map.ts'

export const checkCommand = (world: World) =>
  newCommand('check', {
    exitCodes: '0 nothing is wrong (there may be warnings), 1 there are faults',
    example: 'rules check --table candidate.csv',
  })
    .description('check the rule table, its promises and the envelope map; report all faults at once')
    .addOption(fileOption('--table <file>', 'the rule table', RULE_TABLE))
    .addOption(fileOption('--promises <file>', 'what the rule table promises', PROMISES))
    .addOption(fileOption('--envelope <file>', 'the envelope map', ENVELOPE_MAP))
    .option('--unguarded', 'list the rules that no promise guards')
    .option('--annotations', 'print faults and warnings also as annotations of GitHub Actions')
    .option('--json', 'as one JSON value: the faults, warnings and summary of each file')
    .action((options: Options) => check(world, options))

interface Options {
  readonly table: string
  readonly promises: string
  readonly envelope: string
  readonly unguarded?: true
  readonly annotations?: true
  readonly json?: true
}

async function check(world: World, options: Options): Promise<void> {
  const texts = await Promise.all([readText(options.table), readText(options.promises)])
  const trafficTypes = listTrafficTypes(await readText(TRAFFIC).catch(() => null))
  const checked = await checkRuleFiles(texts[0], texts[1], TEMPLATE_EVENT_TYPES, { trafficTypes })
  const { table, promises, promised, enumeration } = checked
  const unguarded =
    options.unguarded && enumeration !== null
      ? `; ${describeUnguarded(findUnguarded(promised, enumeration))}`
      : ''
  const reviews = [
    {
      file: relative('', options.table),
      ...table,
      summary: table.summary && `${table.summary}${unguarded}`,
    },
    { file: relative('', options.promises), ...promises },
    await reviewEnvelopeMap(options.envelope),
  ]
  if (options.json) await print(world, JSON.stringify(reviews))
  else for (const review of reviews) await report(world, review)
  if (options.annotations) await print(world, ...reviews.flatMap(listAnnotations))
  if (reviews.some(({ faults }) => faults.length > 0)) world.exitCode = 1
}

async function report(
  world: World,
  { file, faults, warnings, summary }: FileReport & { file: string },
): Promise<void> {
  for (const warning of warnings) note(world, `${file}: warning: ${describeFault(warning)}`)
  if (faults.length > 0) note(world, `${file} has ${listFaults(faults.map(describeFault))}`)
  if (summary !== null) await print(world, `${file}: ${summary}`)
}

function listAnnotations({ file, faults, warnings }: FileReport & { file: string }): string[] {
  const command = (level: 'error' | 'warning') => (fault: Fault) =>
    workflowCommand(level, file, fault.row, describeFault(fault))
  return [...warnings.map(command('warning')), ...faults.map(command('error'))]
}
