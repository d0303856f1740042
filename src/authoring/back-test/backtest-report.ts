import { describeResult } from '../../service/decide/decision/result.ts'
import type { RuleTable } from '../../service/decide/rules/table.ts'
import type { DecisionGroup, ListedMember } from '../../service/model/decision-group.ts'
import { counted } from '../../service/text/count.ts'
import { csvList } from '../../service/text/csv.ts'
import { CHANGE_KINDS, type ChangeKind, classifyChange } from '../diff/compare-tables.ts'
import { type BacktestChange, type BacktestSource, runBacktest } from './decide-groups.ts'

/** One event with a changed decision. */
export interface ChangedEvent extends ListedMember {
  readonly change: ChangeKind
  readonly eventType: string
  /** In words, such as "SEND by email". */
  readonly before: string
  readonly after: string
  readonly ruleBefore: string
  readonly ruleAfter: string
}

/** A group of events on a page of decisions. */
export interface GroupPosition {
  /** Null: the first page. */
  readonly cursor: string | null
  readonly group: string
}

/** Limit for the events of one kind, and for those of one group. */
export const LISTED_COUNT_MAX = 1_000
/** Limit for all changes together. */
const PLACES_HELD_MAX = 50_000
const EVENT_TYPE_COUNT_MAX = 20

/** The CSV columns of the list. */
export const CHANGED_CSV = csvList([
  'change',
  'createdAt',
  'partyLocator',
  'eventType',
  'before',
  'after',
  'ruleBefore',
  'ruleAfter',
  'locator',
] as const satisfies readonly (keyof ChangedEvent)[])

/** Runs a back-test, see `runBacktest`, and records the pages of the changed events. */
export async function reportBacktest(
  candidate: Pick<RuleTable, 'decide'>,
  source: BacktestSource,
  knownEventTypes: readonly string[],
  onProgress: (eventCount: number) => void,
) {
  const placesOf = new Map<BacktestChange, GroupPosition[]>()
  let placesHeld = 0
  const note = (change: BacktestChange, { id, count }: DecisionGroup, cursor: string | null) => {
    if (change.count - count >= LISTED_COUNT_MAX || placesHeld++ >= PLACES_HELD_MAX) return
    placesOf.set(change, [...(placesOf.get(change) ?? []), { cursor, group: id }])
  }
  const result = await runBacktest(candidate, source, knownEventTypes, onProgress, note)
  const { events, changed, byAnotherRule, undecided, changes } = result
  const kinds = CHANGE_KINDS.map((kind) => {
    const own = changes.filter((change) => classifyChange(change) === kind)
    return {
      kind,
      count: sum(own),
      /** Such as "claim.paid 12, invoice.paid 3". */
      eventTypes: describeEventTypes(own),
      /** Each change with the groups of its events. */
      changes: own.map((change) => [change, placesOf.get(change) ?? []] as const),
    }
  })
  return { events, changed, byAnotherRule, undecided, kinds: kinds.filter(({ count }) => count > 0) }
}

function describeEventTypes(changes: readonly BacktestChange[]): string {
  const byType = [...Map.groupBy(changes, ({ eventType }) => eventType)]
    .map(([eventType, groups]) => [eventType, sum(groups)] as const)
    .sort(([, a], [, b]) => b - a)
  const named = byType.slice(0, EVENT_TYPE_COUNT_MAX).map(([eventType, count]) => `${eventType} ${count}`)
  const more = byType.length - named.length
  return [...named, ...(more > 0 ? [counted(more, 'more event type')] : [])].join(', ')
}

/** The result of a back-test, cut to a readable size: changes by kind, most harmful first. */
export type BacktestReport = Awaited<ReturnType<typeof reportBacktest>>
export type KindOfChange = BacktestReport['kinds'][number]

/** Some events of one kind of change, the most frequent change first. */
export async function listChanged(
  { kind, changes }: KindOfChange,
  readMembers: (place: GroupPosition) => Promise<readonly ListedMember[]>,
): Promise<ChangedEvent[]> {
  const list: ChangedEvent[] = []
  for (const [{ eventType, before, after }, places] of changes) {
    const rules = { ruleBefore: before.ruleId, ruleAfter: after.ruleId }
    const shared = {
      change: kind,
      eventType,
      before: describeResult(before),
      after: describeResult(after),
      ...rules,
    }
    for (const place of places) {
      if (list.length >= LISTED_COUNT_MAX) break
      list.push(...(await readMembers(place)).map((member) => ({ ...member, ...shared })))
    }
  }
  return list.slice(0, LISTED_COUNT_MAX)
}

function sum(changes: readonly { readonly count: number }[]): number {
  return changes.reduce((total, { count }) => total + count, 0)
}
