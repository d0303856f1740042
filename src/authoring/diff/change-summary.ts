import { counted } from '../../service/text/count.ts'
import { describeFault, type Fault } from '../../service/text/faults.ts'
import type { Preview, PreviewChange } from '../templates/preview.ts'
import { describeSms } from '../templates/sms-length.ts'
import type { TrafficEffect } from '../traffic/weigh-change.ts'
import type { RuleTableDiff } from './compare-tables.ts'
import { type RowChange, summariseRows } from './diff-rows.ts'
import { type ChangeGroup, describeRest, groupChanges, summariseDiff } from './diff-text.ts'

export interface Review {
  readonly file: string
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

/** Effects of a change of rules, promises and templates. Null: unknown, because a file has faults. */
export interface ChangeSummary {
  readonly reviews: readonly Review[]
  readonly diff: RuleTableDiff | null
  /** Null: no decision differs, or nobody counted. */
  readonly traffic: TrafficEffect | null
  readonly texts: readonly PreviewChange[] | null
  /** Changed rules, promises and fields of the envelope map. */
  readonly rows: readonly RowChange[]
  /** How the table could be shorter with the same decisions. */
  readonly shorter: readonly string[]
  /** What the table does now although a promise forbade it, in sentences. */
  readonly nowPossible: readonly string[]
  /** Accepted outcomes and texts that are no longer true, and those that are true instead. */
  readonly outcomes: { readonly gone: readonly string[]; readonly fresh: readonly string[] } | null
}

/** One page for a pull request: faults first, then the changes, the most harmful first. */
export function summaryToMarkdown({
  reviews,
  diff,
  traffic,
  texts,
  rows,
  shorter,
  nowPossible,
  outcomes,
}: ChangeSummary): string {
  const missing = [
    ...(diff === null ? ['what the rule table changes'] : []),
    ...(texts === null ? ['which texts change'] : []),
  ]
  const isWeaker = ({ what, kind }: RowChange) => what === 'promise' && kind !== 'added'
  const others = rows.filter((row) => !isWeaker(row))
  const parts = [
    promisesToMarkdown(rows.filter(isWeaker), nowPossible),
    said(reviews, 'faults', 'fault'),
    said(reviews, 'warnings', 'warning'),
    missing.length === 0 ? '' : `The faults hide ${missing.join(' and ')}. Correct them first.\n`,
    traffic === null ? '' : trafficToMarkdown(traffic),
    diff === null ? '' : diffToMarkdown(diff),
    others.length === 0 ? '' : rowsToMarkdown(others),
    texts === null ? '' : previewChangesToMarkdown(texts),
    shorter.length === 0 ? '' : shorterToMarkdown(shorter),
    outcomes === null ? '' : outcomesToMarkdown(outcomes),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

function said(reviews: readonly Review[], what: 'faults' | 'warnings', singular: string): string {
  const items = reviews.flatMap((review) =>
    review[what].map(({ lines = [], ...fault }) =>
      [
        `- ${literal(review.file)}: ${literal(describeFault(fault))}`,
        ...lines.map((line) => `  - ${literal(line)}`),
      ].join('\n'),
    ),
  )
  return items.length === 0 ? '' : `### ${counted(items.length, singular)}\n\n${items.join('\n')}\n`
}

/** A forge shows such a block in red. */
function promisesToMarkdown(rows: readonly RowChange[], nowPossible: readonly string[]): string {
  if (rows.length === 0) return ''
  const items = rows.map(({ text }) => `- ${literal(text)}`)
  const possible =
    nowPossible.length === 0
      ? ['Nothing that this table does was forbidden before; a later change may do it.']
      : [
          'What this table does, and a promise forbade:',
          '',
          ...nowPossible.map((line) => `- ${literal(line)}`),
        ]
  return `> [!CAUTION]\n${[`**${summariseRows(rows)}**`, '', ...items, '', ...possible].map((line) => `> ${line}`.trimEnd()).join('\n')}\n`
}

function rowsToMarkdown(rows: readonly RowChange[]): string {
  const items = rows.map(({ text }) => `- ${literal(text)}`)
  return `### Envelope map, promises and rules: ${summariseRows(rows)}\n\n${items.join('\n')}\n`
}

function shorterToMarkdown(hints: readonly string[]): string {
  const items = hints.map((hint) => `- ${literal(hint)}`)
  return `<details><summary>The table could be shorter, with the same decisions</summary>\n\n${items.join('\n')}\n\n</details>\n`
}

function outcomesToMarkdown({ gone, fresh }: NonNullable<ChangeSummary['outcomes']>): string {
  if (gone.length + fresh.length === 0) return ''
  return `### Not accepted yet: ${counted(Math.max(gone.length, fresh.length), 'outcome or text', 'outcomes and texts')}

If the changes above are what you want, start the workflow "accept rules" with the number of this pull request, or run \`make rules-accept\` and commit \`rules/outcomes.txt\`.
`
}

function trafficToMarkdown({ summary, changes, notes }: TrafficEffect): string {
  const items = [...changes, ...notes].map((line) => `- ${literal(line)}`)
  return `### ${literal(summary)}\n\n${items.join('\n')}\n`
}

/** If more situations change, each kind of change is folded away. */
const SHOWN_COUNT_MAX = 12

/** @internal The diff in sentences, for a pull request: a heading for each kind of change, the most harmful first. */
export function diffToMarkdown(diff: RuleTableDiff): string {
  const folded = diff.changes.length > SHOWN_COUNT_MAX
  const kinds = [...Map.groupBy(groupChanges(diff), ({ kind }) => kind)].map(([kind, groups]) => {
    const title = `#### ${kind.charAt(0).toUpperCase()}${kind.slice(1)}`
    return [title, ...groups.map((group) => formatGroup(group, folded))].join('\n\n')
  })
  const rest = describeRest(diff).map((line) => `- ${literal(line)}`)
  const parts = [
    `### Rule table: ${summariseDiff(diff)}`,
    ...kinds,
    ...(rest.length > 0 ? [`#### No difference to members\n\n${rest.join('\n')}`] : []),
  ]
  return `${parts.join('\n\n')}\n`
}

function formatGroup({ sentence, situations }: ChangeGroup, folded: boolean): string {
  const list = situations.map((situation) => `- ${literal(situation)}`).join('\n')
  return folded
    ? `<details><summary>${literal(sentence)}</summary>\n\n${list}\n\n</details>`
    : `${literal(sentence)}:\n\n${list}`
}

/** @internal The changed texts, before and after, for a pull request; empty if none changed. */
export function previewChangesToMarkdown(changes: readonly PreviewChange[]): string {
  if (changes.length === 0) return ''
  const sections = changes.map(({ eventType, before, after }) => {
    const name = literal(eventType)
    if (before === null) return `#### ${name}: new, was the generic text\n\n${formatTexts(after as Preview)}`
    if (after === null)
      return `#### ${name}: removed, becomes the generic text\n\nBefore:\n\n${formatTexts(before)}`
    return `#### ${name}\n\nBefore:\n\n${formatTexts(before)}\n\nAfter:\n\n${formatTexts(after)}`
  })
  return `### Texts: ${counted(changes.length, 'event type')} with another text\n\n${sections.join('\n\n')}\n`
}

function formatTexts({ texts }: Preview): string {
  const shown = texts.map(({ withReason, subject, body, sms }) => {
    const variant = withReason === null ? '' : `${withReason ? 'with a reason' : 'without a reason'}, `
    return `${variant}${describeSms(sms)} by text message:\n\n${fenced(`Subject: ${subject}\n\n${body}`)}`
  })
  return shown.join('\n\n')
}

/** Escapes text, so that it is neither Markdown nor HTML and mentions no user by @name. */
function literal(text: string): string {
  return text.replace(/[\\`*[\]<>&|~@#]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Literal text in a block that no run of backticks in it can end. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}text\n${text}\n${fence}`
}
