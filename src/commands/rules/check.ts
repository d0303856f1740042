import { relative } from 'node:path'
import { Command } from 'commander'
import { ENVELOPE_MAP, PROMISES, RULE_TABLE, readText, TEMPLATE_EVENT_TYPES } from '../../app/policy.ts'
import { EnvelopeMapError, loadEnvelopeMap } from '../../core/event/envelope-map.ts'
import { checkRuleFiles, type FileReport } from '../../core/rules/check-files.ts'
import { listFaults } from '../../core/text/faults.ts'

export const checkCommand = new Command('check')
  .description('check the rule table, its promises and the envelope map; report all faults at once')
  .option('--table <file>', 'the rule table', RULE_TABLE)
  .option('--promises <file>', 'what the rule table promises', PROMISES)
  .option('--envelope <file>', 'the envelope map', ENVELOPE_MAP)
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
  readonly json?: true
}

async function check(options: Options): Promise<void> {
  const texts = await Promise.all([
    readText(options.table),
    readText(options.promises),
    readText(options.envelope),
  ])
  const { table, promises } = await checkRuleFiles(texts[0], texts[1], TEMPLATE_EVENT_TYPES)
  const reviews = [
    { file: relative('', options.table), ...table },
    { file: relative('', options.promises), ...promises },
    { file: relative('', options.envelope), ...reviewEnvelope(texts[2]) },
  ]
  if (options.json) process.stdout.write(`${JSON.stringify(reviews)}\n`)
  else for (const review of reviews) report(review)
  if (reviews.some(({ faults }) => faults.length > 0)) process.exitCode = 1
}

/** Prints what was found in a file. */
function report({ file: name, faults, warnings, summary }: FileReport & { file: string }): void {
  for (const warning of warnings) process.stderr.write(`${name}: warning: ${warning}\n`)
  if (faults.length > 0) process.stderr.write(`${name} has ${listFaults(faults)}\n`)
  if (summary !== null) process.stdout.write(`${name}: ${summary}\n`)
}

function reviewEnvelope(jsonText: string): FileReport {
  try {
    const map = loadEnvelopeMap(jsonText)
    return { faults: [], warnings: [], summary: `maps ${Object.keys(map).join(', ')}` }
  } catch (error) {
    if (!(error instanceof EnvelopeMapError)) throw error
    return { faults: error.faults, warnings: [], summary: null }
  }
}
