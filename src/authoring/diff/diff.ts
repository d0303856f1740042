import { readFile, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { RULE_TABLE, readText, TRAFFIC } from '../../service/app/authored-files.ts'
import type { RuleTable } from '../../service/decide/rules/table.ts'
import { describeFault } from '../../service/text/faults.ts'
import { checkRevision, listFilesAt, readFileAt } from '../../terminal/git.ts'
import { fileOption, newCommand } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import type { World } from '../../terminal/world.ts'
import { compileRuleTable } from '../check/compile-table.ts'
import { findCopiedReasons } from '../check/find-copied-reasons.ts'
import { listEventTypes } from '../templates/read-templates.ts'
import { weighByFile } from '../traffic/weigh-change.ts'
import { diffRuleTables } from './compare-tables.ts'
import { describeDiff } from './diff-text.ts'

export const diffCommand = (world: World) =>
  newCommand('diff', {
    exitCodes: '0 compared, 1 a table has faults or is not readable',
    example: 'rules diff --against main',
  })
    .description('describe in sentences which decisions differ from those of an earlier rule table')
    .requiredOption(
      '--against <git revision or file>',
      'the earlier rule table; an existing file takes precedence',
    )
    .addOption(fileOption('--table <file>', 'the current rule table', RULE_TABLE))
    .option('--json', 'as one JSON value')
    .action((options: Options) => diff(world, options))

interface Options {
  readonly against: string
  readonly table: string
  readonly json?: true
}

async function diff(world: World, { against, table, json }: Options): Promise<void> {
  const before = await tableBefore(against, table)
  const after = await compileRuleTable(await readText(table))
  const difference = diffRuleTables(before, after)
  const traffic = await readFile(TRAFFIC, 'utf8').catch(() => null)
  const { effect, faults } = weighByFile(traffic, { before, after }, difference, [])
  const sentences = [
    ...describeDiff(difference),
    ...faults.map((fault) => `${relative('', TRAFFIC)}: ${describeFault(fault)}`),
    ...(effect === null
      ? []
      : [effect.summary, ...effect.changes.map((line) => `    ${line}`), ...effect.notes]),
  ]
  const warnings = findCopiedReasons(after.rules, before.rules)
  for (const warning of warnings) note(world, `${relative('', table)}: warning: ${describeFault(warning)}`)
  await print(world, ...(json ? [JSON.stringify({ ...difference, warnings, sentences })] : sentences))
}

/** The earlier table; for a git revision, with that revision's templates, to which `no template` refers. */
async function tableBefore(against: string, table: string): Promise<RuleTable> {
  const name = `the rule table of ${against}`
  const isFile = await stat(against).then(
    (found) => found.isFile(),
    () => false,
  )
  if (isFile) return compileRuleTable(await readText(against), { name })
  await checkRevision(against, dirname(table), 'file')
  const files = await listFilesAt(against, join(dirname(table), '../templates'))
  const eventTypes = listEventTypes(files.map((file) => ({ name: file, text: '' })))
  return compileRuleTable(await readFileAt(against, table), { name, eventTypes })
}
