import { InvalidArgumentError } from 'commander'

/** Reads an offset or the number of a partition. Throws InvalidArgumentError. */
export function parseWhole(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return BigInt(text)
}

/** Reads how many of something an option allows: 1 at least. Throws InvalidArgumentError. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.')
  return Number(text)
}
