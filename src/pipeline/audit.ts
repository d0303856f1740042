import {
  type AuditedPartition,
  type Counts,
  type Difference,
  type Finding,
  noCounts,
} from '../core/audit/finding.ts'
import type { Fate, LogPiece, OffsetRange } from '../core/audit/log-piece.ts'
import { type Gap, withGaps } from '../core/audit/with-gaps.ts'
import { isPruned, type Pruned } from '../core/decision/skip-pruned.ts'
import { type Message, sizeOf } from '../core/event/message.ts'
import type { Event, Parsed } from '../core/event/parse-event.ts'

/** A log row, and the message that it came from. */
export interface LoggedRow {
  readonly eventId: string
  readonly locator: string
  readonly eventType: string
  readonly partyLocator: string | null
  /** Null where no decision explains the row. */
  readonly origin: { readonly topic: string; readonly partition: number; readonly offset: bigint } | null
  /** Of the map by which the message was read; null where that is not known. */
  readonly envelopeMapRevision: string | null
  readonly erased: boolean
}

export interface AuditNeeds {
  readonly read: (range: OffsetRange) => AsyncIterable<LogPiece>
  /** By the map of this revision; null: by the present one. */
  readonly parse: (message: Message, envelopeMapRevision: string | null) => Promise<Parsed> | Parsed
  /** Those of the events that have a row, by event id. */
  readonly findRows: (eventIds: readonly string[]) => Promise<ReadonlyMap<string, LoggedRow>>
  /** Those of the messages that are stored as rejected, by offset, and whether they were erased. */
  readonly findRejected: (
    topic: string,
    partition: number,
    messages: readonly Message[],
  ) => Promise<ReadonlyMap<bigint, { readonly erased: boolean }>>
  /** What prunings may have deleted of a partition, as of now. */
  readonly prunings: (topic: string, partition: number) => Promise<readonly Pruned[]>
  /** The offsets of a partition that were skipped, as of now. */
  readonly skips: (topic: string, partition: number) => Promise<readonly Skip[]>
  /** Whether compaction may remove records of a topic; false also where the broker does not tell. */
  readonly isCompacted: (topic: string) => Promise<boolean>
  readonly report: (finding: Finding) => Promise<void>
  /** Called with what each page adds. */
  readonly onProgress: (counts: Counts) => void
}

/** Offsets that somebody skipped, both included; `to` is null where it was erased. */
export interface Skip {
  readonly from: bigint
  readonly to: bigint | null
}

interface Read {
  readonly message: Message
  readonly fate: Fate
}

/** A message up to the checkpoint. */
interface Processed {
  readonly message: Message
  readonly isAborted: boolean
  readonly parsed: Parsed
}

/** Of one page, which is looked up by a query or two. */
const PAGE_COUNT_MAX = 2_000
const PAGE_BYTES_MAX = 8 * 1024 * 1024

/**
 * Compares the messages of a partition with what the database holds of them, page by page: memory does not grow with
 * their number. A message up to the checkpoint must be a row, a duplicate of one, or a rejected message, unless something
 * else explains it. What is beyond the checkpoint, as it was when the audit began, is only counted.
 */
export async function auditPartition(needs: AuditNeeds, partition: AuditedPartition): Promise<Counts> {
  const sum = noCounts()
  const add = (counts: Partial<Counts>) => {
    const page = { ...noCounts(), ...counts }
    for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += page[name]
    needs.onProgress(page)
  }
  add(removedOf(partition, { first: partition.from, last: min(partition.earliest, partition.end) - 1n }))
  if (partition.anotherAt !== null) add(await reportAnotherLog(needs, partition, partition.anotherAt))
  if (isProcessed(partition, partition.logEnd)) add(await reportBeyondEnd(needs, partition))
  let page: Read[] = []
  let pageBytes = 0
  const flush = async () => {
    if (page.length > 0) add(await auditPage(needs, partition, page))
    page = []
    pageBytes = 0
  }
  /** Of the last message that was read: a batch that cannot be read tells no time. */
  let timestampMs: bigint | undefined
  const from = max(partition.from, partition.earliest)
  for await (const piece of withGaps(needs.read({ ...partition, from }), { from, end: partition.end })) {
    if (piece.kind === 'control') add({ control: 1 })
    else if (piece.kind === 'gap') add(await auditGap(needs, partition, piece))
    else if (piece.kind === 'aborted-rest') add({ aborted: offsetCount(piece.first, piece.last) })
    else if (piece.kind === 'removed') add(removedOf(partition, piece))
    else if (piece.kind === 'unreadable') add(await auditUnreadable(needs, partition, piece, timestampMs))
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

/** The service reads it from its start once it notices, so that all of it waits. */
async function reportAnotherLog(
  { report }: AuditNeeds,
  { topic, partition }: AuditedPartition,
  offset: bigint,
): Promise<Partial<Counts>> {
  await report({ kind: 'another-log', topic, partition, offset: String(offset) })
  return { anotherLog: 1 }
}

/** Whatever the log holds was to be processed all the same, and is judged as such. */
async function reportBeyondEnd(
  { report }: AuditNeeds,
  { topic, partition, checkpoint, logEnd }: AuditedPartition,
): Promise<Partial<Counts>> {
  const [offset, end] = [String(checkpoint), String(logEnd)]
  await report({ kind: 'beyond-end', topic, partition, offset, end })
  return { beyondEnd: 1 }
}

/** Offsets that retention removed. Where the service never was, nothing was to be processed. */
function removedOf(
  { checkpoint }: AuditedPartition,
  { first, last }: { readonly first: bigint; readonly last: bigint },
): Partial<Counts> {
  return {
    removed: offsetCount(first, last),
    removedUnread: checkpoint === null ? 0 : offsetCount(max(first, checkpoint + 1n), last),
  }
}

/** From the first to the last. */
function offsetCount(first: bigint, last: bigint): number {
  return first <= last ? Number(last - first + 1n) : 0
}

/** Brokers give out offsets without gaps, and nothing but compaction removes records out of the middle of a log. */
async function auditGap(
  { isCompacted, report }: AuditNeeds,
  { topic, partition }: AuditedPartition,
  { first, last }: Gap,
): Promise<Partial<Counts>> {
  const count = offsetCount(first, last)
  if (await isCompacted(topic)) return { absent: count }
  await report({ kind: 'gap', topic, partition, offset: String(first), last: String(last) })
  return { lost: count }
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
  const skipped = (await skips(topic, partition)).reduce(
    (sum, { from, to }) => sum + offsetCount(max(from, first), min(to ?? last, last)),
    0,
  )
  const left = count - skipped
  if (left <= 0) return { skipped: count }
  // A pruning deletes the records of skips, too.
  if (isPruned(await prunings(topic, partition), last, timestampMs)) return { skipped, pruned: left }
  await report({ kind: 'unreadable', topic, partition, offset: String(first), last: String(last), detail })
  return { skipped, unreadable: left }
}

async function auditPage(
  needs: AuditNeeds,
  partition: AuditedPartition,
  page: readonly Read[],
): Promise<Partial<Counts>> {
  const counts = noCounts()
  const processed: Processed[] = []
  for (const { message, fate } of page) {
    if (partition.untilMs !== null && Number(message.timestampMs ?? -1) > partition.untilMs) {
      counts.later++
      continue
    }
    const wasProcessed = isProcessed(partition, message.offset)
    if (wasProcessed && fate === 'open') {
      counts.undecided++
      await needs.report({ ...positionOf(partition, message), kind: 'undecided' })
    } else if (wasProcessed)
      processed.push({ message, isAborted: fate === 'aborted', parsed: await needs.parse(message, null) })
    else if (fate === 'aborted') counts.aborted++
    else counts.waiting++
  }
  const eventIds = processed.flatMap(({ parsed }) => (parsed.kind === 'event' ? [parsed.event.eventId] : []))
  const rows = eventIds.length === 0 ? new Map<string, LoggedRow>() : await needs.findRows(eventIds)
  const unlogged: Processed[] = []
  for (const read of processed) {
    const { parsed } = read
    const row = parsed.kind === 'event' ? rows.get(parsed.event.eventId) : undefined
    if (row === undefined || parsed.kind !== 'event') unlogged.push(read)
    else await auditLogged(needs, partition, read, row, counts)
  }
  if (unlogged.length > 0) await auditUnlogged(needs, partition, unlogged, counts)
  return counts
}

/** Of a message whose event has a row: its own, or that of another message, which it repeats. */
async function auditLogged(
  needs: AuditNeeds,
  partition: AuditedPartition,
  { message, isAborted, parsed }: Processed,
  row: LoggedRow,
  counts: Counts,
): Promise<void> {
  const position = positionOf(partition, message)
  const { eventId, locator, origin } = row
  const isOther = origin !== null && !isAt(origin, partition, message)
  if (isAborted) {
    // Published again after that, it has the row of the message that was committed.
    counts[isOther ? 'aborted' : 'unexpected']++
    if (!isOther) await needs.report({ ...position, kind: 'aborted', locator })
    return
  }
  if (origin === null) {
    counts.unexplained++
    await needs.report({ ...position, kind: 'unexplained', eventId, locator })
  } else if (isOther) {
    counts.duplicates++
    const of = { ...origin, offset: String(origin.offset) }
    await needs.report({ ...position, kind: 'duplicate', eventId, locator, of })
  } else {
    counts.rows++
    if (row.erased) counts.erased++
  }
  const event = (parsed as Extract<Parsed, { kind: 'event' }>).event
  const differences = await differencesOf(needs, message, event, row)
  if (differences.length === 0) return
  counts.disagreeing++
  const { eventType } = event
  await needs.report({ ...position, kind: 'disagrees', locator, eventId, eventType, differences })
}

/** The party is compared as the envelope map of the row's time found it. */
async function differencesOf(
  { parse }: AuditNeeds,
  message: Message,
  event: Event,
  row: LoggedRow,
): Promise<Difference[]> {
  const differences: Difference[] = []
  if (row.eventType !== event.eventType)
    differences.push({ column: 'event_type', stored: row.eventType, published: event.eventType })
  if (row.partyLocator === event.partyLocator) return differences
  const then = row.envelopeMapRevision === null ? null : await parse(message, row.envelopeMapRevision)
  const published = then?.kind === 'event' ? then.event.partyLocator : event.partyLocator
  if (row.partyLocator !== published)
    differences.push({ column: 'party_locator', stored: row.partyLocator, published })
  return differences
}

/** Of messages without a row. What explains them is read after the rows, so that a row pruned meanwhile is explained. */
async function auditUnlogged(
  needs: AuditNeeds,
  partition: AuditedPartition,
  unlogged: readonly Processed[],
  counts: Counts,
): Promise<void> {
  const { topic, partition: number } = partition
  const [rejected, prunings, skips] = await Promise.all([
    needs.findRejected(
      topic,
      number,
      unlogged.map(({ message }) => message),
    ),
    needs.prunings(topic, number),
    needs.skips(topic, number),
  ])
  for (const { message, isAborted, parsed } of unlogged) {
    const { offset, timestampMs } = message
    const position = positionOf(partition, message)
    const kept = rejected.get(offset)
    if (kept !== undefined && isAborted) {
      counts.unexpected++
      await needs.report({ ...position, kind: 'aborted', locator: null })
    } else if (kept !== undefined) {
      counts.rejected++
      if (kept.erased) counts.erased++
    } else if (isAborted) counts.aborted++
    else if (skips.some(({ from, to }) => from <= offset && offset <= (to ?? from))) counts.skipped++
    else if (isPruned(prunings, offset, timestampMs)) counts.pruned++
    else {
      counts.missing++
      await needs.report(
        parsed.kind === 'event'
          ? { ...position, kind: 'missing', eventId: parsed.event.eventId, eventType: parsed.event.eventType }
          : { ...position, kind: 'not-kept', reason: parsed.rejection.error },
      )
    }
  }
}

function isProcessed({ checkpoint, anotherAt }: AuditedPartition, offset: bigint): boolean {
  return checkpoint !== null && anotherAt === null && offset <= checkpoint
}

function positionOf({ topic, partition }: OffsetRange, { offset }: Message) {
  return { topic, partition, offset: String(offset) }
}

function isAt(
  origin: NonNullable<LoggedRow['origin']>,
  { topic, partition }: OffsetRange,
  { offset }: Message,
) {
  return origin.offset === offset && origin.partition === partition && origin.topic === topic
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
