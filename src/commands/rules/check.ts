import { relative } from 'node:path'
import { Command } from 'commander'
import { ENVELOPE_MAP, PROMISES, RULE_TABLE, readText, TEMPLATE_EVENT_TYPES } from '../../app/rule-files.ts'
import {
  type EnvelopeMap,
  EnvelopeMapError,
  loadEnvelopeMap,
  sourceText,
} from '../../core/event/envelope-map.ts'
import { checkRuleFiles, type FileReport } from '../../core/rules/check-files.ts'
import { listFaults } from '../../core/text/faults.ts'
import { rowIn, workflowCommand } from '../terminal/annotations.ts'
import { fileOption } from '../terminal/options.ts'

export const checkCommand = new Command('check')
  .description('check the rule table, its promises and the envelope map; report all faults at once')
  .addOption(fileOption('--table <file>', 'the rule table', RULE_TABLE))
  .addOption(fileOption('--promises <file>', 'what the rule table promises', PROMISES))
  .addOption(fileOption('--envelope <file>', 'the envelope map', ENVELOPE_MAP))
  .option('--annotations', 'print faults and warnings also as annotations of GitHub Actions')
  .option('--json', 'as one JSON value: the faults, warnings and summary of each file')
  .addHelpText(
    'after',
    `
Exit codes: 0 nothing is wrong (there may be warnings), 1 there are faults, 2 wrong usage.

Example:
  $ notifications-service rules check --table candidate.csv`,
  )
  .action(check)

interface Options {
  readonly table: string
  readonly promises: string
  readonly envelope: string
  readonly annotations?: true
  readonly json?: true
}

async function check(options: Options): Promise<void> {
  const texts = await Promise.all([readText(options.table), readText(options.promises)])
  const { table, promises } = await checkRuleFiles(texts[0], texts[1], TEMPLATE_EVENT_TYPES)
  const reviews = [
    { file: relative('', options.table), ...table },
    { file: relative('', options.promises), ...promises },
    await reviewEnvelopeMap(options.envelope),
  ]
  if (options.json) process.stdout.write(`${JSON.stringify(reviews)}\n`)
  else for (const review of reviews) report(review)
  if (options.annotations) for (const review of reviews) annotate(review)
  if (reviews.some(({ faults }) => faults.length > 0)) process.exitCode = 1
}

/** Prints the findings of a file. */
function report({ file: name, faults, warnings, summary }: FileReport & { file: string }): void {
  for (const warning of warnings) process.stderr.write(`${name}: warning: ${warning}\n`)
  if (faults.length > 0) process.stderr.write(`${name} has ${listFaults(faults)}\n`)
  if (summary !== null) process.stdout.write(`${name}: ${summary}\n`)
}

function annotate({ file, faults, warnings }: FileReport & { file: string }): void {
  const command = (level: 'error' | 'warning', text: string) =>
    process.stdout.write(workflowCommand({ level, file, line: rowIn(text), text }))
  for (const warning of warnings) command('warning', warning)
  for (const fault of faults) command('error', fault)
}

function summaryOf({ value, ...sources }: EnvelopeMap): string {
  const places = Object.entries(sources).map(([field, source]) => `${field} from ${sourceText(source)}`)
  return [...places, ...(value === 'json' ? [] : [`values are ${value}`])].join(', ')
}

/** Throws CorrectableError. */
export async function reviewEnvelopeMap(file = ENVELOPE_MAP): Promise<FileReport & { file: string }> {
  const name = relative('', file)
  try {
    const map = loadEnvelopeMap(await readText(file))
    return { file: name, faults: [], warnings: [], summary: `maps ${summaryOf(map)}` }
  } catch (error) {
    if (!(error instanceof EnvelopeMapError)) throw error
    return { file: name, faults: error.faults, warnings: [], summary: null }
  }
}
