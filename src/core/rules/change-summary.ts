import type { PreviewChange } from '../templates/preview.ts'
import { previewChangesToMarkdown } from '../templates/preview-markdown.ts'
import { counted } from '../text/count.ts'
import { literal } from '../text/markdown.ts'
import type { RuleTableDiff } from './diff.ts'
import { diffToMarkdown } from './diff-markdown.ts'
import type { RulePromise } from './load-promises.ts'

/** The summary of one file. */
export interface Review {
  readonly file: string
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
}

/** All that a change of rules, promises and texts means. Null: a file has faults, so it cannot be told. */
export interface ChangeSummary {
  readonly reviews: readonly Review[]
  readonly diff: RuleTableDiff | null
  readonly texts: readonly PreviewChange[] | null
  readonly promises: PromiseDiff | null
  /** Lines of the accepted outcomes that the rule table makes otherwise. */
  readonly outcomes: { readonly gone: readonly string[]; readonly fresh: readonly string[] } | null
}

/** One page for a pull request: what is wrong first, then what changes, the most harmful first. */
export function summaryToMarkdown({ reviews, diff, texts, promises, outcomes }: ChangeSummary): string {
  const missing = [
    ...(diff === null ? ['what the rule table changes'] : []),
    ...(texts === null ? ['which texts change'] : []),
    ...(promises === null ? ['which promises change'] : []),
  ]
  const parts = [
    said(reviews, 'faults', 'fault'),
    said(reviews, 'warnings', 'warning'),
    missing.length === 0
      ? ''
      : `Because of the faults it cannot be told here ${missing.join(', ')}. Correct them first.\n`,
    diff === null ? '' : diffToMarkdown(diff),
    texts === null ? '' : previewChangesToMarkdown(texts),
    promises === null ? '' : promisesToMarkdown(promises),
    outcomes === null ? '' : outcomesToMarkdown(outcomes),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function said(reviews: readonly Review[], what: 'faults' | 'warnings', singular: string): string {
  const items = reviews.flatMap((review) =>
    review[what].map((text) => {
      const [first = '', ...more] = text.split('\n')
      return [
        `- ${literal(review.file)}: ${literal(first)}`,
        ...more.map((line) => `  - ${literal(line.trim())}`),
      ].join('\n')
    }),
  )
  return items.length === 0 ? '' : `### ${counted(items.length, singular)}\n\n${items.join('\n')}\n`
}

function promisesToMarkdown({ removed, changed, added }: PromiseDiff): string {
  const items = [
    ...removed.map((name) => `- no longer promised: ${literal(name)}`),
    ...changed.map((name) => `- promised otherwise: ${literal(name)}`),
    ...added.map((name) => `- newly promised: ${literal(name)}`),
  ]
  return items.length === 0
    ? ''
    : `### Promises: ${removed.length} removed, ${changed.length} changed, ${added.length} added\n\n${items.join('\n')}\n`
}

function outcomesToMarkdown({ gone, fresh }: NonNullable<ChangeSummary['outcomes']>): string {
  if (gone.length + fresh.length === 0) return ''
  return `### Outcomes not accepted yet: ${counted(Math.max(gone.length, fresh.length), 'line')}

If the changes above are what you want, start the workflow "accept rules" with the number of this pull request, or run \`make rules-accept\` and commit \`rules/outcomes.txt\`.
`
}

/** Compares promises by their sentences. A reworded promise is one removed and one added. */
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

/** A promise without its position in the file. */
function keyOf({ when, expected, sendBy, reason }: RulePromise): string {
  return JSON.stringify([{ ...when, eventType: when.eventType?.text }, expected, sendBy, reason])
}
