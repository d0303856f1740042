import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { UsageError } from './options.ts'

/** Asks on the terminal. Throws UsageError if there is none. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError('there is no terminal to ask for confirmation: use --yes')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  return /^y(es)?$/i.test(answer.trim())
}

/** The words for a dry run or a declined prompt. */
export function wouldDo(dryRun: true | undefined, what: string): string {
  return `${dryRun ? 'Dry run' : 'Not confirmed'}: would ${what}`
}

/** The default name of an operator: in a container the account often has no name. */
export function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
