import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { isPartyLocator } from '../service/decide/event/parse-event.ts'
import { CorrectableError } from '../service/text/faults.ts'
import { didYouMean, nearest } from '../service/text/nearest.ts'
import { parseSince as parse, SINCE_EXAMPLES, SINCE_WORDS, type Since } from '../service/time/duration.ts'

/** The option `--since`, or `--from` as in the API. Its default is in the form of its values, such as 7d. */
export function sinceOption(meaning: string, byDefault?: string): Option {
  const option = new Option('--from, --since <when>', `${meaning}: ${SINCE_WORDS}`).argParser(parseSince)
  return byDefault === undefined ? option : option.default(parseSince(byDefault), byDefault)
}

/** The option `--until`, or `--to` as in the API. */
export function untilOption(meaning: string): Option {
  return new Option('--to, --until <when>', `${meaning}; by default up to now`).argParser(parseAt)
}

/** The option `--party`, or `--member` as in the console. */
export function partyOption(meaning: string): Option {
  return new Option('--member, --party <locator>', meaning).argParser(parseParty)
}

/** An option for one of a few words, in any case. */
export function choiceOption(flags: string, meaning: string, choices: readonly string[]): Option {
  const option = new Option(flags, meaning).choices(choices)
  return option.argParser((text) => {
    const found = choices.find((choice) => choice.toLowerCase() === text.toLowerCase())
    if (found !== undefined) return found
    const near = didYouMean(nearest(text, choices))
    throw new InvalidArgumentError(`Write ${choices.join(', ')}${near}`)
  })
}

/** Reads how many items to list. Throws InvalidArgumentError. */
export function parseLimit(text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (count < 1) throw new InvalidArgumentError('It must be a whole number above 0.')
  return count
}

/** Reads a duration such as 7d, a time, or a day, which means its start. Throws InvalidArgumentError. */
export function parseSince(text: string): Since {
  return parse(text) ?? refuse()
}

/** Like `parseSince`, but a day means its end. */
export function parseAt(text: string): Since {
  return parse(text, 'end') ?? refuse()
}

function refuse(): never {
  throw new InvalidArgumentError(`Write ${SINCE_EXAMPLES}.`)
}

/** Refuses a blank filter value, such as an unset shell variable, which would select everything. */
export function notBlank(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be blank.')
  return text
}

/** Reads an offset or a partition number. Throws InvalidArgumentError. */
export function parseWhole(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return BigInt(text)
}

/** Reads the id of a request or of a rejected message. Throws InvalidArgumentError. */
export function parseId(text: string): string {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError('An id is a whole number above 0.')
  return text
}

/** Reads one of several ids. Throws InvalidArgumentError. */
export function addId(text: string, previous: readonly string[] = []): string[] {
  return [...previous, parseId(text)]
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** An option for a file, with one of the service's own files as default; help shows its path in the repository. */
export function fileOption(flags: string, meaning: string, path: string): Option {
  return new Option(flags, meaning).default(path, relative(ROOT, path))
}

interface Help {
  readonly notes?: string
  /** Codes 0 and 1 with their meaning, as in `0 listed, 1 failed`. Groups of commands have none. */
  readonly exitCodes?: string
  /** Without the program's name. The first is also shown after wrong usage. */
  readonly example: string | readonly string[]
}

/** A command. Its help ends with notes, exit codes and examples; wrong usage is answered in three lines, not by the whole help. */
export function newCommand(name: string, { notes, exitCodes, example }: Help): Command {
  const lines = [example].flat().map((line) => `notifications-service ${line}`)
  const codes = exitCodes === undefined ? [] : [`Exit codes: ${exitCodes}, 2 wrong usage.`, '']
  const examples = [lines.length === 1 ? 'Example:' : 'Examples:', ...lines.map((line) => `  $ ${line}`)]
  return new Command(name)
    .addHelpText('after', ['', ...(notes === undefined ? [] : [notes]), ...codes, ...examples].join('\n'))
    .showHelpAfterError(`For example: ${lines[0]}  (--help shows everything)`)
}

/** Wrong usage of a command. Only the message is printed, without a stack; exit code 2. */
export class UsageError extends CorrectableError {}

/** The exit code for an error that ended a command. Of commander's errors, only a command's own code counts. */
export function chooseExitCode(error: unknown): number {
  if (error instanceof CommanderError)
    return error.exitCode === 0 || error.code === 'commander.error' ? error.exitCode : 2
  return error instanceof UsageError ? 2 : 1
}

function parseParty(text: string): string {
  if (!isPartyLocator(text)) throw new InvalidArgumentError('This is not a valid party locator.')
  return text
}
