import { join, relative } from 'node:path'
import { Command } from 'commander'
import { OUTCOMES, readText, sha256 } from '../../app/rule-files.ts'
import { acceptedEventTypes } from '../../core/rules/outcomes.ts'
import { checkTemplates, type TemplateLine } from '../../core/templates/check-templates.ts'
import { describeTemplateFault, type TemplateFault } from '../../core/templates/template.ts'
import { listFaults } from '../../core/text/faults.ts'
import { describeSms } from '../../core/text/sms-length.ts'
import { workflowCommand } from '../terminal/annotations.ts'
import { fileOption } from '../terminal/options.ts'
import { TEMPLATES, templateFilesOf } from '../terminal/template-folder.ts'

export const checkCommand = new Command('check')
  .description(
    'report the first fault of each template by file and line, and the length of each text as an SMS',
  )
  .addOption(fileOption('--templates <folder>', 'the templates', TEMPLATES))
  .option('--annotations', 'print faults and warnings also as annotations of GitHub Actions')
  .option('--json', 'as one JSON value: faults, warnings and a line for each template')
  .addHelpText(
    'after',
    `
Exit codes: 0 nothing is wrong (there may be warnings), 1 there are faults, 2 wrong usage.

Example:
  $ notifications-service templates check`,
  )
  .action(check)

interface Options {
  readonly templates: string
  readonly annotations?: true
  readonly json?: true
}

async function check({ templates, annotations, json }: Options): Promise<void> {
  const accepted = acceptedEventTypes(await readText(OUTCOMES))
  const report = checkTemplates(templateFilesOf(templates), { sha256, accepted })
  const { faults, warnings, lines } = report
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`)
  else {
    for (const warning of warnings) process.stderr.write(`warning: ${describeTemplateFault(warning)}\n`)
    if (faults.length > 0) {
      process.stderr.write(`the templates have ${listFaults(faults.map(describeTemplateFault))}\n`)
    }
    for (const line of lines) process.stdout.write(`${inWords(line)}\n`)
  }
  if (annotations) {
    const annotate = (level: 'error' | 'warning', { file, line, text }: TemplateFault) =>
      process.stdout.write(workflowCommand({ level, file: relative('', join(templates, file)), line, text }))
    for (const warning of warnings) annotate('warning', warning)
    for (const fault of faults) annotate('error', fault)
  }
  if (faults.length > 0) process.exitCode = 1
}

function inWords({ file, sms, uses }: TemplateLine): string {
  return `${file}: ${describeSms(sms)} by SMS, uses ${uses.join(', ')}`
}
