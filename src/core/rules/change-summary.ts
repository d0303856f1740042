import type { PreviewChange } from '../templates/preview.ts'
import { previewChangesToMarkdown } from '../templates/preview-markdown.ts'
import { counted } from '../text/count.ts'
import { literal } from '../text/markdown.ts'
import type { RuleTableDiff } from './diff.ts'
import { diffToMarkdown } from './diff-markdown.ts'
import { type RowChange, summariseRows } from './diff-rows.ts'

export interface Review {
  readonly file: string
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
}

/** Effects of a change of rules, promises and templates. Null: unknown, because a file has faults. */
export interface ChangeSummary {
  readonly reviews: readonly Review[]
  readonly diff: RuleTableDiff | null
  readonly texts: readonly PreviewChange[] | null
  /** Rules and promises that were deleted or reworded. */
  readonly rows: readonly RowChange[]
  /** Lines of the accepted outcomes that differ under the rule table. */
  readonly outcomes: { readonly gone: readonly string[]; readonly fresh: readonly string[] } | null
}

/** One page for a pull request: faults first, then the changes, the most harmful first. */
export function summaryToMarkdown({ reviews, diff, texts, rows, outcomes }: ChangeSummary): string {
  const missing = [
    ...(diff === null ? ['what the rule table changes'] : []),
    ...(texts === null ? ['which texts change'] : []),
  ]
  const parts = [
    said(reviews, 'faults', 'fault'),
    said(reviews, 'warnings', 'warning'),
    missing.length === 0 ? '' : `The faults hide ${missing.join(' and ')}. Correct them first.\n`,
    diff === null ? '' : diffToMarkdown(diff),
    rows.length === 0 ? '' : rowsToMarkdown(rows),
    texts === null ? '' : previewChangesToMarkdown(texts),
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

function rowsToMarkdown(rows: readonly RowChange[]): string {
  const items = rows.map(({ text }) => `- ${literal(text)}`)
  return `### Rules and promises: ${summariseRows(rows)}\n\n${items.join('\n')}\n`
}

function outcomesToMarkdown({ gone, fresh }: NonNullable<ChangeSummary['outcomes']>): string {
  if (gone.length + fresh.length === 0) return ''
  return `### Outcomes not accepted yet: ${counted(Math.max(gone.length, fresh.length), 'line')}

If the changes above are what you want, start the workflow "accept rules" with the number of this pull request, or run \`make rules-accept\` and commit \`rules/outcomes.txt\`.
`
}
