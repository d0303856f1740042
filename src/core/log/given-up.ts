import { counted } from '../text/count.ts'

/** What is said of a row that failed and that no retry is due for any more. */
export function describeGivenUp({ attemptCount }: { readonly attemptCount: number }): string {
  return attemptCount === 0
    ? 'given up without a retry'
    : `given up after ${counted(attemptCount, 'attempt')}`
}
