import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'
import { Command, Option } from 'commander'
import { RULE_TABLE, readText, ruleTableOf } from '../../app/policy.ts'
import { type Change, diffRuleTables, type RuleTableDiff } from '../../core/rules/diff.ts'
import { DIRECTIONS } from '../../core/rules/diff-directions.ts'
import { diffToMarkdown } from '../../core/rules/diff-markdown.ts'
import { describeDiff } from '../../core/rules/diff-text.ts'

export const diffCommand = new Command('diff')
  .description('describe in sentences which decisions differ from those of an earlier rule table')
  .requiredOption(
    '--against <git revision or file>',
    'the earlier rule table; an existing file takes precedence',
  )
  .option('--table <file>', 'the current rule table', RULE_TABLE)
  .addOption(
    new Option(
      '--fail-on <direction>',
      'exit with 1 if any situation becomes a SEND, or stops being one',
    ).choices(Object.keys(DIRECTIONS)),
  )
  .addOption(new Option('--markdown', 'as Markdown, for a pull request').conflicts('json'))
  .option('--json', 'as one JSON value')
  .addHelpText(
    'after',
    `
Exit codes: 0 compared, 1 a table has faults or is not readable, or --fail-on found a change, 2 wrong usage.

Examples:
  $ notifications-service rules diff --against main
  $ notifications-service rules diff --against old.csv --fail-on new-send --markdown`,
  )
  .action(diff)

interface Options {
  readonly against: string
  readonly table: string
  readonly failOn?: keyof typeof DIRECTIONS
  readonly markdown?: true
  readonly json?: true
}

async function diff({ against, table, failOn, markdown, json }: Options): Promise<void> {
  const before = await ruleTableOf(await readBefore(against, table), `the rule table of ${against}`)
  const after = await ruleTableOf(await readText(table))
  const difference = diffRuleTables(before, after)
  if (json) process.stdout.write(`${JSON.stringify(asValue(difference))}\n`)
  else
    process.stdout.write(markdown ? diffToMarkdown(difference) : `${describeDiff(difference).join('\n')}\n`)
  if (failOn === undefined) return
  const failing = difference.changes.filter(DIRECTIONS[failOn])
  if (failing.length > 0) {
    diffCommand.error(`--fail-on ${failOn} forbids ${failing.length} of the changes`)
  }
}

/** For programs: event types in words, rules by their ids, and the sentences that people get. */
function asValue(difference: RuleTableDiff) {
  const change = ({ situation, eventClasses, before, after }: Change) => ({
    situation,
    eventTypes: eventClasses.flatMap(({ members }) => members),
    before,
    after,
  })
  return {
    changes: difference.changes.map(change),
    moved: difference.moved.map(change),
    reworded: difference.reworded.map(({ before, after }) => ({
      ruleId: after.id,
      before: before.because,
      after: after.because,
    })),
    sentences: describeDiff(difference),
  }
}

async function readBefore(against: string, table: string): Promise<string> {
  const isFile = await stat(against).then(
    (found) => found.isFile(),
    () => false,
  )
  return isFile ? readText(against) : readRevision(against, table)
}

/** The rule table as git has it at a revision. */
async function readRevision(revision: string, table: string): Promise<string> {
  const git = (...args: string[]) => promisify(execFile)('git', ['-C', dirname(table), ...args])
  try {
    await git('rev-parse', '--quiet', '--verify', '--end-of-options', `${revision}^{commit}`)
  } catch (error) {
    const { code, stderr } = error as { code: unknown; stderr: string }
    if (code === 'ENOENT')
      diffCommand.error(`"${revision}" is not a file, and git is not installed: name a file`)
    const detail = stderr === '' ? '' : ` (${stderr.trim()})`
    diffCommand.error(`"${revision}" is neither a file nor a git revision${detail}: name one that is`)
  }
  try {
    return (await git('show', '--end-of-options', `${revision}:./${basename(table)}`)).stdout
  } catch (error) {
    const { stderr } = error as { stderr: string }
    return diffCommand.error(`git revision "${revision}" has no ${basename(table)}: ${stderr.trim()}`)
  }
}
