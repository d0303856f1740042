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

/** Effects of a change of rules, promises and templates; null if unknown because of a file's faults. */
export interface ChangeSummary {
  readonly reviews: readonly Review[]
  readonly diff: RuleTableDiff | null
  /** Null if no decision differs, or events were not counted. */
  readonly traffic: TrafficEffect | null
  readonly texts: readonly PreviewChange[] | null
  /** Changed rules, promises and fields of the envelope map. */
  readonly rows: readonly RowChange[]
  /** Hints for a shorter table with the same decisions. */
  readonly shorter: readonly string[]
  /** Sentences about results of the table that a promise forbade. */
  readonly nowPossible: readonly string[]
  /** Accepted outcomes and texts that no longer hold, and their replacements. */
  readonly outcomes: { readonly gone: readonly string[]; readonly fresh: readonly string[] } | null
}

/** One page for a pull request: faults first, then changes, most harmful first. */
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
  const isPlace = ({ what }: RowChange) => what === 'envelope field'
  const plainRows = rows.filter((row) => !isWeaker(row) && !isPlace(row))
  const parts = [
    cautionToMarkdown(rows.filter(isPlace), [ENVELOPE_RISKS]),
    promisesToMarkdown(rows.filter(isWeaker), nowPossible),
    formatRemarks(reviews, 'faults', 'fault'),
    formatRemarks(reviews, 'warnings', 'warning'),
    missing.length === 0 ? '' : `The faults hide ${missing.join(' and ')}. Correct them first.\n`,
    traffic === null ? '' : trafficToMarkdown(traffic),
    diff === null ? '' : diffToMarkdown(diff),
    plainRows.length === 0 ? '' : rowsToMarkdown(plainRows),
    texts === null ? '' : previewChangesToMarkdown(texts),
    shorter.length === 0 ? '' : shorterToMarkdown(shorter),
    outcomes === null ? '' : outcomesToMarkdown(outcomes),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

/** Warnings beyond this number are folded away: each row of a large table may have one. */
const SHOWN_WARNINGS_MAX = 8

function formatRemarks(reviews: readonly Review[], what: 'faults' | 'warnings', singular: string): string {
  const items = reviews.flatMap((review) =>
    review[what].map(({ lines = [], ...fault }) =>
      [
        `- ${literal(review.file)}: ${literal(describeFault(fault))}`,
        ...lines.map((line) => `  - ${literal(line)}`),
      ].join('\n'),
    ),
  )
  if (items.length === 0) return ''
  const shownMax = what === 'warnings' ? SHOWN_WARNINGS_MAX : items.length
  const [shown, rest] = [items.slice(0, shownMax), items.slice(shownMax)]
  const folded =
    rest.length === 0
      ? ''
      : `\n<details><summary>${counted(rest.length, `more ${singular}`)}</summary>\n\n${rest.join('\n')}\n\n</details>\n`
  return `### ${counted(items.length, singular)}\n\n${shown.join('\n')}\n${folded}`
}

const ENVELOPE_RISKS =
  'No outcome shows what this does: with a wrong party locator, messages go to other members; with a wrong event id, they are sent twice or not at all; with a wrong event type, other rules decide. Run `doctor` with this map against the topics first: it lists what their newest messages have in these places.'

function promisesToMarkdown(rows: readonly RowChange[], nowPossible: readonly string[]): string {
  const possible =
    nowPossible.length === 0
      ? ['Nothing that this table does was forbidden before; a later change may do it.']
      : [
          'What this table does, and a promise forbade:',
          '',
          ...nowPossible.map((line) => `- ${literal(line)}`),
        ]
  return cautionToMarkdown(rows, possible)
}

/** A block that forges show in red. Empty without changed rows. */
function cautionToMarkdown(rows: readonly RowChange[], effects: readonly string[]): string {
  if (rows.length === 0) return ''
  const items = rows.map(({ text }) => `- ${literal(text)}`)
  const lines = [`**${summariseRows(rows)}**`, '', ...items, '', ...effects]
  return `> [!CAUTION]\n${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}\n`
}

function rowsToMarkdown(rows: readonly RowChange[]): string {
  const items = rows.map(({ text }) => `- ${literal(text)}`)
  return `### Promises and rules: ${summariseRows(rows)}\n\n${items.join('\n')}\n`
}

function shorterToMarkdown(hints: readonly string[]): string {
  const items = hints.map((hint) => `- ${literal(hint)}`)
  return `<details><summary>The table could be shorter, with the same decisions</summary>\n\n${items.join('\n')}\n\n</details>\n`
}

function outcomesToMarkdown({ gone, fresh }: NonNullable<ChangeSummary['outcomes']>): string {
  if (gone.length + fresh.length === 0) return ''
  return `### Not accepted yet: ${counted(Math.max(gone.length, fresh.length), 'entry', 'entries')} of \`rules/outcomes.txt\`

If the changes above are what you want, start the workflow "accept rules" with the number of this pull request, or run \`make rules-accept\` and commit \`rules/outcomes.txt\`, which lists what becomes of each situation and how each text reads.
`
}

function trafficToMarkdown({ summary, changes, notes }: TrafficEffect): string {
  const items = [...changes, ...notes].map((line) => `- ${literal(line)}`)
  return `### ${literal(summary)}\n\n${items.join('\n')}\n`
}

const SITUATION =
  'A situation is one combination of the facts that rules read about a member, for some event types.'
/** Number of changed situations beyond which each kind of change is folded away. */
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
    ...(kinds.length > 0 ? [SITUATION] : []),
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

/** Number of changed texts beyond which the full texts are folded away. */
const SHOWN_TEXT_COUNT_MAX = 3
const NAME_COUNT_MAX = 5

/** @internal The changed texts for a pull request; empty if none changed. Short differences come first, full texts last. */
export function previewChangesToMarkdown(changes: readonly PreviewChange[]): string {
  if (changes.length === 0) return ''
  const [changed, unchanged] = [changes.filter(isChanged), changes.filter((change) => !isChanged(change))]
  const wholes = changed.map(
    ({ eventType, before, after }) =>
      `#### ${literal(eventType)}\n\nBefore:\n\n${formatTexts(before)}\n\nAfter:\n\n${formatTexts(after)}`,
  )
  const whole = wholes.join('\n\n')
  const parts = [
    `### Texts: ${counted(changes.length, 'event type')} with another text`,
    ...formatEdits(changed),
    ...listLonger(changed),
    ...unchanged.map(({ eventType, before, after }) => {
      const name = literal(eventType)
      if (after !== null) return `#### ${name}: new, was the generic text\n\n${formatTexts(after)}`
      return `#### ${name}: removed, becomes the generic text\n\nBefore:\n\n${before && formatTexts(before)}`
    }),
    changed.length > SHOWN_TEXT_COUNT_MAX
      ? `<details><summary>All changed texts, before and after</summary>\n\n${whole}\n\n</details>`
      : whole,
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

interface ChangedText extends PreviewChange {
  readonly before: Preview
  readonly after: Preview
}

function isChanged(change: PreviewChange): change is ChangedText {
  return change.before !== null && change.after !== null
}

/** The changed lines, once for all event types with the same change. */
function formatEdits(changed: readonly ChangedText[]): string[] {
  const typesOf = new Map<string, string[]>()
  for (const { eventType, before, after } of changed) {
    const [old, now] = [listLines(before), listLines(after)]
    const gone = [...old].filter((line) => !now.has(line)).map((line) => `- ${line}`)
    const fresh = [...now].filter((line) => !old.has(line)).map((line) => `+ ${line}`)
    const edits = [...gone, ...fresh]
    for (const edit of edits.length === 0 ? ['  the same lines, in another order or number'] : edits)
      typesOf.set(edit, [...(typesOf.get(edit) ?? []), eventType])
  }
  return [...Map.groupBy(typesOf, ([, types]) => JSON.stringify(types)).values()]
    .map((group) => ({ types: group[0]?.[1] ?? [], lines: group.map(([line]) => line) }))
    .toSorted((a, b) => a.types.length - b.types.length)
    .map(({ types, lines }) => {
      const [gone, fresh] = [false, true].map((isFresh) =>
        lines.filter((line) => line.startsWith('+') === isFresh),
      )
      return `${literal(describeTypes(types))}:\n\n${fenced([...(gone ?? []), ...(fresh ?? [])].join('\n'), 'diff')}`
    })
}

function listLines({ texts }: Preview): ReadonlySet<string> {
  return new Set(texts.flatMap(({ subject, body }) => [`Subject: ${subject}`, ...body.split('\n')]))
}

/** A sentence about the texts that need more segments by text message. */
function listLonger(changed: readonly ChangedText[]): string[] {
  const segments = ({ texts }: Preview) => Math.max(...texts.map(({ sms }) => sms.segments))
  const longer = changed.flatMap(({ eventType, before, after }) => {
    const [old, now] = [segments(before), segments(after)]
    return now > old ? [`${eventType} (${old}, now ${now})`] : []
  })
  if (longer.length === 0) return []
  return [`Longer by text message, in segments: ${literal(describeTypes(longer))}.`]
}

function describeTypes(types: readonly string[]): string {
  const more = types.length - NAME_COUNT_MAX
  const named = types.slice(0, NAME_COUNT_MAX).join(', ')
  return more > 0 ? `${counted(types.length, 'event type')}, such as ${named}` : named
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

/** Literal text in a block with a longer fence than any run of backticks in it. */
function fenced(text: string, language = 'text'): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}
