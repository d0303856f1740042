import { InvalidArgumentError } from 'commander'

/** Parses how many of something an option allows: 1 at least. Throws InvalidArgumentError. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('it must be a whole number above 0.')
  return Number(text)
}
