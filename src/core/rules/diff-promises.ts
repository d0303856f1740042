import type { RulePromise } from './load-promises.ts'

/** How promises differ, by their sentences. A promise that is worded anew is one removed and one added. */
export interface PromiseDiff {
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  readonly added: readonly string[]
}

export function diffPromises(before: readonly RulePromise[], after: readonly RulePromise[]): PromiseDiff {
  const [old, now] = [before, after].map((promises) => new Map(promises.map((one) => [one.name, keyOf(one)])))
  const only = (some: readonly RulePromise[], others: typeof old) =>
    some.filter(({ name }) => !others?.has(name)).map(({ name }) => name)
  return {
    removed: only(before, now),
    changed: after
      .filter((one) => old?.has(one.name) && old.get(one.name) !== keyOf(one))
      .map(({ name }) => name),
    added: only(after, old),
  }
}

/** What is promised, wherever the promise stands in the file. */
function keyOf({ when, expected, sendBy, reason }: RulePromise): string {
  return JSON.stringify([{ ...when, eventType: when.eventType?.text }, expected, sendBy, reason])
}
