import {
  type AuditedPartition,
  type Counts,
  type Fate,
  type Finding,
  type LogPiece,
  noCounts,
  type OffsetRange,
} from '../core/audit/finding.ts'
import { isPruned, type Pruned } from '../core/decision/skip-pruned.ts'
import { type Message, sizeOf } from '../core/event/message.ts'
import type { Event, Parsed } from '../core/event/parse-event.ts'

export interface LoggedRow {
  readonly eventId: string
  readonly locator: string
  readonly eventType: string
  readonly partyLocator: string | null
  /** Null where no decision explains the row. */
  readonly origin: { readonly topic: string; readonly partition: number; readonly offset: bigint } | null
  /** Null where the envelope map that read the message is not known. */
  readonly envelopeMapRevision: string | null
  readonly erased: boolean
}

/** Offsets that somebody skipped, both included; `to` is null where it was erased. */
export interface Skip {
  readonly from: bigint
  readonly to: bigint | null
}

export interface AuditNeeds {
  readonly read: (range: OffsetRange) => AsyncIterable<LogPiece>
  /** Parses by the envelope map of this revision; null: by the present one. */
  readonly parse: (message: Message, envelopeMapRevision: string | null) => Promise<Parsed> | Parsed
  /** The envelope maps that were in force before. */
  readonly earlierMaps: readonly string[]
  readonly findRows: (eventIds: readonly string[]) => Promise<ReadonlyMap<string, LoggedRow>>
  /** The rejected ones of these messages, by offset. */
  readonly findRejected: (
    topic: string,
    partition: number,
    messages: readonly Message[],
  ) => Promise<ReadonlyMap<bigint, { readonly erased: boolean }>>
  readonly prunings: (topic: string, partition: number) => Promise<readonly Pruned[]>
  readonly skips: (topic: string, partition: number) => Promise<readonly Skip[]>
  readonly report: (finding: Finding) => Promise<void>
  /** Called with the counts of each page. */
  readonly onProgress: (counts: Counts) => void
}

interface Read {
  readonly message: Message
  readonly fate: Fate
  readonly parsed: Exclude<Parsed, { kind: 'tombstone' }>
}

/** A page is looked up by a query or two. */
const PAGE_COUNT_MAX = 2_000
const PAGE_BYTES_MAX = 8 * 1024 * 1024

/**
 * Compares the messages of a partition with the database, page by page. A committed message up to the checkpoint must have a
 * row, its own or that of an event with the same id, or be a rejected message, unless it was skipped or may be pruned. Messages
 * after the checkpoint are only counted.
 */
export async function auditPartition(needs: AuditNeeds, audited: AuditedPartition): Promise<Counts> {
  const sum = noCounts()
  const page: Omit<Read, 'parsed'>[] = []
  let pageBytes = 0
  let timestampMs: bigint | undefined
  const add = (counts: Partial<Counts>) => {
    const added = { ...noCounts(), ...counts }
    for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += added[name]
    needs.onProgress(added)
  }
  const flush = async () => {
    if (page.length > 0) add(await auditPage(needs, audited, page.splice(0)))
    pageBytes = 0
  }
  const removed = async (first: bigint, last: bigint) => add(await auditRemoved(needs, audited, first, last))

  const from = audited.from > audited.earliest ? audited.from : audited.earliest
  await removed(audited.from, (from < audited.end ? from : audited.end) - 1n)
  for await (const piece of needs.read({ ...audited, from })) {
    if (piece.kind === 'removed') await removed(piece.first, piece.last)
    else if (piece.kind === 'unreadable') add(await auditUnreadable(needs, audited, piece, timestampMs))
    else {
      timestampMs = piece.messages.at(-1)?.timestampMs
      for (const message of piece.messages) {
        page.push({ message, fate: piece.fate })
        pageBytes += sizeOf(message)
        if (page.length >= PAGE_COUNT_MAX || pageBytes >= PAGE_BYTES_MAX) await flush()
      }
    }
  }
  await flush()
  return sum
}

async function auditRemoved(
  { report }: AuditNeeds,
  { topic, partition, checkpoint }: AuditedPartition,
  first: bigint,
  last: bigint,
): Promise<Partial<Counts>> {
  // Nothing is due in a partition that the service never consumed.
  const next = checkpoint === null ? last + 1n : checkpoint + 1n
  const firstGone = next > first ? next : first
  const goneCount = offsetCount(firstGone, last)
  if (goneCount > 0) {
    const detail = "the broker's retention removed them before they were processed"
    await report({
      kind: 'gone',
      topic,
      partition,
      offset: String(firstGone),
      last: String(last),
      detail,
    })
  }
  return { removed: offsetCount(first, last) - goneCount, gone: goneCount }
}

async function auditUnreadable(
  { skips, prunings, report }: AuditNeeds,
  audited: AuditedPartition,
  { first, last, detail }: Extract<LogPiece, { kind: 'unreadable' }>,
  timestampMs: bigint | undefined,
): Promise<Partial<Counts>> {
  const { topic, partition } = audited
  const count = offsetCount(first, last)
  if (!isProcessed(audited, first)) return { waiting: count }
  const skipped = (await skips(topic, partition)).reduce((sum, { from, to }) => {
    const [begin, end] = [from > first ? from : first, to !== null && to < last ? to : last]
    return sum + offsetCount(begin, end)
  }, 0)
  if (skipped >= count) return { skipped: count }
  // A pruning deletes the records of skips, too.
  if (isPruned(await prunings(topic, partition), last, timestampMs))
    return { skipped, pruned: count - skipped }
  await report({ kind: 'unreadable', topic, partition, offset: String(first), last: String(last), detail })
  return { skipped, unreadable: count - skipped }
}

async function auditPage(
  needs: AuditNeeds,
  audited: AuditedPartition,
  page: readonly Omit<Read, 'parsed'>[],
): Promise<Counts> {
  const counts = noCounts()
  const processed: Read[] = []
  for (const read of page) {
    const { message, fate } = read
    if (audited.untilMs !== null && Number(message.timestampMs ?? -1) > audited.untilMs) counts.later++
    else if (!isProcessed(audited, message.offset)) counts[fate === 'aborted' ? 'aborted' : 'waiting']++
    else {
      const parsed = await needs.parse(message, null)
      if (parsed.kind !== 'tombstone') processed.push({ ...read, parsed })
      else counts[fate === 'committed' ? 'tombstones' : 'aborted']++
    }
  }
  let unlogged: readonly Read[] = processed
  // A message that has no row by the present map may have been read by an earlier one.
  for (const revision of [null, ...needs.earlierMaps]) {
    if (unlogged.length > 0) unlogged = await auditByMap(needs, audited, revision, unlogged, counts)
  }
  if (unlogged.length > 0) await auditUnlogged(needs, audited, unlogged, counts)
  return counts
}

/** Audits the messages that have a row by this envelope map (null: the present one), and returns the others. */
async function auditByMap(
  needs: AuditNeeds,
  audited: AuditedPartition,
  revision: string | null,
  all: readonly Read[],
  counts: Counts,
): Promise<readonly Read[]> {
  const parsed = await Promise.all(
    all.map((read) => (revision === null ? read.parsed : needs.parse(read.message, revision))),
  )
  const eventIds = parsed.flatMap((one) => (one.kind === 'event' ? [one.event.eventId] : []))
  const rows = eventIds.length === 0 ? new Map<string, LoggedRow>() : await needs.findRows(eventIds)
  const unlogged: Read[] = []
  for (const [i, read] of all.entries()) {
    const one = parsed[i]
    const row = one?.kind === 'event' ? rows.get(one.event.eventId) : undefined
    if (row === undefined || one?.kind !== 'event') unlogged.push(read)
    else await auditLogged(needs, audited, { ...read, parsed: one }, row, counts)
  }
  return unlogged
}

/** The row may come from this message, or from another one with the same event id. */
async function auditLogged(
  needs: AuditNeeds,
  audited: AuditedPartition,
  { message, fate, parsed: { event } }: Read & { readonly parsed: { readonly event: Event } },
  row: LoggedRow,
  counts: Counts,
): Promise<void> {
  const { locator, origin } = row
  const isOwn = origin !== null && isAt(origin, audited, message)
  const differs = async (detail: string) => {
    counts.differs++
    const { eventId } = event
    await needs.report({ kind: 'differs', ...positionOf(audited, message), eventId, locator, detail })
  }
  if (fate !== 'committed') {
    // An aborted event that was published again has the row of the committed message.
    if (!isOwn) counts.aborted++
    else
      await differs(
        `${locator} is its row, although its transaction ${fate === 'open' ? 'has no end' : 'was aborted'}`,
      )
    return
  }
  if (origin === null) await differs(`${locator} is its row, but no decision explains it`)
  else {
    const differences = await differencesOf(needs, message, event, row)
    if (differences.length > 0) await differs(`${locator}: ${differences.join(', ')}`)
    else counts[isOwn ? 'rows' : 'duplicates']++
    if (isOwn && row.erased) counts.erased++
  }
}

/** The party is compared as the envelope map of the row's time read it. */
async function differencesOf(
  { parse }: AuditNeeds,
  message: Message,
  event: Event,
  row: LoggedRow,
): Promise<string[]> {
  const differences: string[] = []
  if (row.eventType !== event.eventType)
    differences.push(differenceOf('event_type', row.eventType, event.eventType))
  if (row.partyLocator === event.partyLocator) return differences
  const then = row.envelopeMapRevision === null ? null : await parse(message, row.envelopeMapRevision)
  const published = then?.kind === 'event' ? then.event.partyLocator : event.partyLocator
  if (row.partyLocator !== published)
    differences.push(differenceOf('party_locator', row.partyLocator, published))
  return differences
}

function differenceOf(column: string, stored: string | null, published: string | null): string {
  return `${column} is ${JSON.stringify(stored)}, but the message says ${JSON.stringify(published)}`
}

/** Reads the prunings and skips after the rows, so that they explain a row that was pruned meanwhile. */
async function auditUnlogged(
  needs: AuditNeeds,
  audited: AuditedPartition,
  unlogged: readonly Read[],
  counts: Counts,
): Promise<void> {
  const { topic, partition } = audited
  const [rejected, prunings, skips] = await Promise.all([
    needs.findRejected(
      topic,
      partition,
      unlogged.map(({ message }) => message),
    ),
    needs.prunings(topic, partition),
    needs.skips(topic, partition),
  ])
  for (const { message, fate, parsed } of unlogged) {
    const { offset, timestampMs } = message
    const position = positionOf(audited, message)
    const kept = rejected.get(offset)
    if (kept !== undefined && fate !== 'committed') {
      counts.differs++
      const detail = 'it is stored as a rejected message, although its transaction was not committed'
      await needs.report({ kind: 'differs', ...position, detail })
    } else if (kept !== undefined) {
      counts.rejected++
      if (kept.erased) counts.erased++
    } else if (fate !== 'committed') counts.aborted++
    else if (skips.some(({ from, to }) => from <= offset && offset <= (to ?? from))) counts.skipped++
    else if (isPruned(prunings, offset, timestampMs)) counts.pruned++
    else {
      counts.missing++
      await needs.report({ kind: 'missing', ...position, ...missingOf(parsed) })
    }
  }
}

function missingOf(parsed: Read['parsed']): Pick<Finding, 'eventId' | 'detail'> {
  if (parsed.kind === 'rejection')
    return { detail: `not a valid event (${parsed.rejection.error}), but not stored as a rejected message` }
  const { eventId, eventType } = parsed.event
  return {
    eventId,
    detail: `event ${JSON.stringify(eventId)} of type ${JSON.stringify(eventType)} has no row`,
  }
}

function isProcessed({ checkpoint }: AuditedPartition, offset: bigint): boolean {
  return checkpoint !== null && offset <= checkpoint
}

function positionOf({ topic, partition }: OffsetRange, { offset }: Message) {
  return { topic, partition, offset: String(offset) }
}

function isAt(
  origin: NonNullable<LoggedRow['origin']>,
  { topic, partition }: OffsetRange,
  { offset }: Message,
): boolean {
  return origin.offset === offset && origin.partition === partition && origin.topic === topic
}

function offsetCount(first: bigint, last: bigint): number {
  return first <= last ? Number(last - first + 1n) : 0
}
