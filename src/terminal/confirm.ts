import { once } from 'node:events'
import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { type Command, Option } from 'commander'
import { BECAUSE_LENGTH_MAX } from '../service/model/request/request.ts'
import { UsageError } from './options.ts'
import { clearProgress } from './print.ts'
import type { World } from './world.ts'

/** Options of the commands that write, which ask first and record the operator. */
export interface WriteOptions {
  readonly dryRun?: true
  readonly yes?: true
  readonly by: string
  readonly json?: true
}

export function withWriteOptions(command: Command): Command {
  return command.option('--yes', 'do not ask for confirmation').addOption(byOption())
}

export function byOption(): Option {
  return new Option('--by <name>', 'name to record').default(accountName(), 'that of the account')
}

/** Asks on the terminal, unless `yes` is set. An answer that declines sets the exit code. Throws UsageError without a terminal. */
export async function confirm(
  world: World,
  question: string,
  { yes }: Pick<WriteOptions, 'yes'>,
): Promise<boolean> {
  if (yes) return true
  if (!world.stdin.isTTY) throw new UsageError('there is no terminal to ask for confirmation: use --yes')
  clearProgress(world.stderr)
  const terminal = createInterface({ input: world.stdin, output: world.stderr })
  const closed = once(terminal, 'close').then(() => NO)
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `).catch(toNo), closed])
    const isConfirmed = /^y(es)?$/i.test(answer.trim())
    if (!isConfirmed) world.exitCode = 1
    return isConfirmed
  } finally {
    terminal.close()
  }
}

const NO = 'n'

/** Ctrl-C and Ctrl-D decline. */
function toNo(error: Error): string {
  if (error.name !== 'AbortError') throw error
  return NO
}

/** Throws UsageError if the reason is too long, or blank and required; `missing` is the message then. */
export function requireBecause(
  { because = '', dryRun }: Pick<WriteOptions, 'dryRun'> & { readonly because?: string },
  missing: string,
): void {
  if (because.length > BECAUSE_LENGTH_MAX)
    throw new UsageError(`--because has at most ${BECAUSE_LENGTH_MAX} characters`)
  if (!dryRun && because.trim() === '') throw new UsageError(missing)
}

/** The words for a dry run or a declined prompt. */
export function wouldDo(dryRun: true | undefined, what: string): string {
  return `${dryRun ? 'Dry run' : 'Not confirmed'}: would ${what}`
}

/** In a container the account often has no name. */
function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
