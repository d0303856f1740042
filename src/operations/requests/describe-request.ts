import { LOG_FILTER_LIST } from '../../service/model/log/log-filters.ts'
import type { RejectedFilterName, StoredRequest } from '../../service/model/request/schemas.ts'
import { counted } from '../../service/text/count.ts'

/** Results in words; those of log entries are statuses. */
const RESULT_WORDS: Readonly<Record<string, string>> = {
  SENT: 'sent',
  FAILED: 'failed',
  logged: 'logged',
  duplicate: 'logged already',
  dismissed: 'dismissed',
  skipped: 'skipped',
  unchanged: 'left unchanged',
}

/** Example: "40 sent, 2 left unchanged"; empty before the first result. */
export function describeCounts(counts: StoredRequest['counts']): string {
  return Object.entries(counts)
    .map(([result, count]) => `${count} ${RESULT_WORDS[result] ?? result}`)
    .join(', ')
}

/** The same for a request; a note if a done request's filter matched nothing. */
export function describeResults({ counts, state, target }: StoredRequest): string {
  const { filter } = target as Partial<KnownTarget>
  const results = describeCounts(counts)
  return results === '' && state === 'done' && filter !== undefined ? 'nothing fits its filter' : results
}

/** Example: "retry of 2 log entries". Another version may have stored the target; unknown parts are omitted. */
export function describeWanted(
  { kind, target }: Pick<StoredRequest, 'kind' | 'target'>,
  formatTime = shortTime,
): string {
  const { locators, readAgain, ids, filter, topics, topic, partition, offset } =
    target as Partial<KnownTarget>
  switch (kind) {
    case 'retry': {
      const whole = `all log entries not told${describeFilter(filter, formatTime)}`
      const how = readAgain ? ', with their messages read again' : ''
      return `retry of ${locators === undefined ? whole : named(locators, 'log entry', 'log entries')}${how}`
    }
    case 'redrive':
    case 'dismiss': {
      const verb = kind === 'redrive' ? 'redrive' : 'dismissal'
      const whole = `all open unreadable messages${describeFilter(filter, formatTime)}`
      return `${verb} of ${ids === undefined ? whole : named(ids, 'unreadable message', 'unreadable messages')}`
    }
    case 'hold':
      return `hold of ${topics === undefined ? 'all topics' : topics.join(', ')}`
    case 'skip':
      return `skip of the unreadable record batch at offset ${offset} of ${topic}/${partition}`
    default:
      return kind
  }
}

interface KnownTarget {
  readonly locators: readonly string[]
  readonly readAgain: boolean
  readonly ids: readonly string[]
  readonly filter: Readonly<Record<string, unknown>>
  readonly topics: readonly string[]
  readonly topic: string
  readonly partition: number
  readonly offset: string
}

function named(items: readonly string[], one: string, many: string): string {
  return items.length === 1 ? `${one} ${items[0]}` : counted(items.length, one, many)
}

/** Names of filters in words; null: omitted, such as the fixed end of a filter. */
const REJECTED_WORDS: Readonly<Record<RejectedFilterName, string | null>> = {
  topic: 'topic',
  code: 'code',
  since: 'from',
  before: 'before',
  upTo: null,
}
const FILTER_WORDS = new Map<string, string | null>([
  ...LOG_FILTER_LIST.map(([name, { label, words = label?.toLowerCase() ?? null }]) => [name, words] as const),
  ...Object.entries(REJECTED_WORDS),
])

/** The words of a filter, or the name of an unknown one. */
function describeFilterName(name: string): string | null {
  return FILTER_WORDS.has(name) ? (FILTER_WORDS.get(name) ?? null) : name
}

const TIMES: readonly string[] = ['from', 'to', 'since', 'before']

/** A time in ISO 8601, UTC, to the minute. */
function shortTime(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}

function describeFilter(filter: KnownTarget['filter'] = {}, formatTime: (iso: string) => string): string {
  const parts = Object.entries(filter)
    .filter(([name, value]) => value !== undefined && describeFilterName(name) !== null)
    .map(
      ([name, value]) =>
        `${describeFilterName(name)} ${TIMES.includes(name) ? formatTime(String(value)) : value}`,
    )
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

/** The unchanged items by reason; `count` includes unlisted ones. */
export function groupUnchanged(unchanged: StoredRequest['unchanged']) {
  return [...Map.groupBy(unchanged, ({ reason }) => reason)].map(([reason, items]) => ({
    reason,
    items: items.map(({ item }) => item),
    count: items.reduce((sum, { more = 0 }) => sum + 1 + more, 0),
  }))
}
