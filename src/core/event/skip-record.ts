/** How `rejected skip` tells in the record of a skip which offsets it went past, both included. */
export function describeSkip(from: bigint, to: bigint, by: string): string {
  return `skipped offsets ${from} to ${to} by ${by}`
}

/** Finds the last offset in a record that holds such a text behind a semicolon; a regular expression of PostgreSQL. */
export const SKIPPED_TO = '; skipped offsets [0-9]+ to ([0-9]{1,18}) by '
