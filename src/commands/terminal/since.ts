import { InvalidArgumentError, Option } from 'commander'
import { parseSince as parse, SINCE_EXAMPLES, SINCE_WORDS, type Since } from '../../core/time/since.ts'

export type { Since } from '../../core/time/since.ts'
export { timeOf } from '../../postgres/read/time-ago.ts'

/** The option `--since`; its default is written as it would be given, such as 7d. */
export function sinceOption(meaning: string, byDefault?: string): Option {
  const option = new Option('--since <when>', `${meaning}: ${SINCE_WORDS}`).argParser(parseSince)
  return byDefault === undefined ? option : option.default(parseSince(byDefault), byDefault)
}

/** Reads a duration such as 7d, a time, or a day, which stands for its start. Throws InvalidArgumentError. */
export function parseSince(text: string): Since {
  return parse(text) ?? refuse()
}

/** Like `parseSince`, but a day stands for its end. */
export function parseAt(text: string): Since {
  return parse(text, 'end') ?? refuse()
}

function refuse(): never {
  throw new InvalidArgumentError(`Write ${SINCE_EXAMPLES}.`)
}
