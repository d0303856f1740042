import { join, relative } from 'node:path'
import { OUTCOMES_FILE, readText, TEMPLATES, TRAFFIC } from '../../service/app/authored-files.ts'
import { sha256 } from '../../service/app/sha256.ts'
import { describeTemplateFault, type TemplateFault } from '../../service/decide/templates/template.ts'
import { listFaults } from '../../service/text/faults.ts'
import { workflowCommand } from '../../terminal/annotations.ts'
import { fileOption, newCommand } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import type { World } from '../../terminal/world.ts'
import { acceptedEventTypes } from '../outcomes/list-outcomes.ts'
import { listTrafficTypes } from '../traffic/traffic-sheet.ts'
import { checkTemplates } from './check-templates.ts'
import { findConflict } from './parse.ts'
import { describeSms } from './sms-length.ts'
import { readTemplateFiles } from './template-files.ts'

const checkCommand = (world: World) =>
  newCommand('check', {
    exitCodes: '0 nothing is wrong (there may be warnings), 1 there are faults',
    example: 'templates check',
  })
    .description(
      'report the first fault of each template by file and line, and the length of each text as an SMS',
    )
    .addOption(fileOption('--templates <folder>', 'the templates', TEMPLATES))
    .option('--annotations', 'print faults and warnings also as annotations of GitHub Actions')
    .option('--json', 'as one JSON value: faults, warnings and a line for each template')
    .action((options: Options) => check(world, options))

interface Options {
  readonly templates: string
  readonly annotations?: true
  readonly json?: true
}

async function check(world: World, { templates, annotations, json }: Options): Promise<void> {
  const outcomes = await readText(OUTCOMES_FILE)
  const accepted = acceptedEventTypes(outcomes)
  const seen = listTrafficTypes(await readText(TRAFFIC).catch(() => null))
  const options = { sha256, accepted, seen }
  const { faults: inTexts, ...checked } = checkTemplates(readTemplateFiles(templates), options)
  const conflict = findConflict(outcomes)
  const inOutcomes = conflict === null ? [] : [{ file: relative(templates, OUTCOMES_FILE), ...conflict }]
  const report = { ...checked, faults: [...inTexts, ...inOutcomes] }
  const { faults, warnings, lines } = report
  if (json) await print(world, JSON.stringify(report))
  else {
    for (const warning of warnings) note(world, `warning: ${describeTemplateFault(warning)}`)
    if (faults.length > 0) note(world, `the templates have ${listFaults(faults.map(describeTemplateFault))}`)
    await print(
      world,
      ...lines.map(({ file, sms, uses }) => `${file}: ${describeSms(sms)} by SMS, uses ${uses.join(', ')}`),
    )
  }
  if (annotations) {
    const annotation = (level: 'error' | 'warning', { file, line, text }: TemplateFault) =>
      workflowCommand(level, relative('', join(templates, file)), line, text)
    await print(
      world,
      ...warnings.map((warning) => annotation('warning', warning)),
      ...faults.map((fault) => annotation('error', fault)),
    )
  }
  if (faults.length > 0) world.exitCode = 1
}

export const templatesCommand = (world: World) =>
  newCommand('templates', { example: 'templates check' })
    .description('check the texts of messages')
    .addCommand(checkCommand(world))
