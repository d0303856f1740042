import { isPruned, type PrunedPart } from '../../service/decide/decision/skip-pruned.ts'
import {
  describeDifferences,
  findConflict,
  isOwnRow,
  type LoggedRow,
  type ReadBy,
} from '../../service/decide/event/conflict.ts'
import { type Message, messageBytes } from '../../service/decide/event/message.ts'
import type { Event, ParseResult } from '../../service/decide/event/parse-event.ts'
import type { TopicPartition } from '../../service/decide/event/position.ts'
import type { AuditedPartition, AuditFinding, Counts, Fate, LogPiece, OffsetRange } from './audit-finding.ts'

/** Offsets that an operator skipped, both ends included. */
export interface Skip {
  readonly from: bigint
  readonly to: bigint
}

export interface AuditNeeds {
  readonly read: (range: OffsetRange) => AsyncIterable<LogPiece>
  /** Parses with the topic's envelope map of this revision; null: with the current one. */
  readonly parse: (topic: string, message: Message, revision: string | null) => Promise<ParseResult>
  readonly earlierMaps: readonly string[]
  readonly findRows: (eventIds: readonly string[]) => Promise<ReadonlyMap<string, LoggedRow>>
  /** The rejected messages among these, by offset. */
  readonly findRejected: (
    partition: TopicPartition,
    messages: readonly Message[],
  ) => Promise<ReadonlyMap<bigint, { readonly erased: boolean }>>
  readonly prunings: (partition: TopicPartition) => Promise<readonly PrunedPart[]>
  readonly skips: (partition: TopicPartition) => Promise<readonly Skip[]>
  readonly report: (finding: AuditFinding) => Promise<void>
  readonly onProgress: () => void
}

interface Read {
  readonly message: Message
  readonly fate: Fate
}

type ParsedRead = Read & { readonly parsed: Exclude<ParseResult, { kind: 'tombstone' }> }

/** Messages per page, which one or two queries look up. */
const PAGE_COUNT_MAX = 2_000
const PAGE_BYTES_MAX = 8 * 1024 * 1024

/** The audit of one partition. */
interface Audit {
  readonly needs: AuditNeeds
  readonly audited: AuditedPartition
  readonly counts: Counts
}

/**
 * Compares the messages of a partition with the database, page by page, and adds to `counts`. A committed message up to the
 * checkpoint must have a row (its own or one of the same event id) or be a rejected message, unless it was skipped or may be
 * pruned. Messages after the checkpoint are only counted.
 */
export async function auditPartition(
  needs: AuditNeeds,
  audited: AuditedPartition,
  counts: Counts,
): Promise<void> {
  const audit = { needs, audited, counts }
  const { from: wanted, end, earliest } = audited
  const from = wanted > earliest ? wanted : earliest
  const page: Read[] = []
  let pageBytes = 0
  let timestampMs: bigint | undefined
  const flush = async () => {
    if (page.length > 0) await auditPage(audit, page.splice(0))
    pageBytes = 0
    needs.onProgress()
  }
  await auditRemoved(audit, wanted, (from < end ? from : end) - 1n)
  for await (const piece of needs.read({ ...audited, from })) {
    if (piece.kind === 'removed') await auditRemoved(audit, piece.first, piece.last)
    else if (piece.kind === 'unreadable') await auditUnreadable(audit, piece, timestampMs)
    else {
      timestampMs = piece.messages.at(-1)?.timestampMs
      for (const message of piece.messages) {
        page.push({ message, fate: piece.fate })
        pageBytes += messageBytes(message)
        if (page.length >= PAGE_COUNT_MAX || pageBytes >= PAGE_BYTES_MAX) await flush()
      }
    }
  }
  await flush()
}

async function auditRemoved(audit: Audit, first: bigint, last: bigint): Promise<void> {
  const { audited, counts } = audit
  // A partition that the service never consumed needs no rows.
  const next = audited.checkpoint === null ? last + 1n : audited.checkpoint + 1n
  const firstGone = next > first ? next : first
  const goneCount = offsetCount(firstGone, last)
  counts.removed += offsetCount(first, last) - goneCount
  if (goneCount === 0) return
  counts.gone += goneCount
  const detail = "the broker's retention removed them before they were processed"
  await report(audit, 'gone', firstGone, { last: String(last), detail })
}

/** `timestampMs`: time of the message before these offsets. */
async function auditUnreadable(
  audit: Audit,
  { first, last, detail }: Extract<LogPiece, { kind: 'unreadable' }>,
  timestampMs: bigint | undefined,
): Promise<void> {
  const { needs, audited, counts } = audit
  const count = offsetCount(first, last)
  if (!isProcessed(audited, first)) {
    counts.waiting += count
    return
  }
  const skipped = (await needs.skips(audited)).reduce((sum, { from, to }) => {
    const [begin, end] = [from > first ? from : first, to < last ? to : last]
    return sum + offsetCount(begin, end)
  }, 0)
  counts.skipped += Math.min(skipped, count)
  if (skipped >= count) return
  // A pruning also deletes the records of skips.
  const mayBePruned = isPruned(await needs.prunings(audited), last, timestampMs)
  counts[mayBePruned ? 'pruned' : 'unreadable'] += count - skipped
  if (!mayBePruned) await report(audit, 'unreadable', first, { last: String(last), detail })
}

async function auditPage(audit: Audit, page: readonly Read[]): Promise<void> {
  const { needs, audited, counts } = audit
  const { untilMs } = audited
  let unlogged: ParsedRead[] = []
  for (const { message, fate } of page) {
    if (untilMs !== null && Number(message.timestampMs ?? -1) > untilMs) counts.later++
    else if (!isProcessed(audited, message.offset)) counts[fate === 'aborted' ? 'aborted' : 'waiting']++
    else {
      const parsed = await needs.parse(audited.topic, message, null)
      if (parsed.kind !== 'tombstone') unlogged.push({ message, fate, parsed })
      else counts[fate === 'committed' ? 'tombstones' : 'aborted']++
    }
  }
  // A message without a row by the current envelope map may have been read by an earlier one.
  for (const revision of [null, ...needs.earlierMaps])
    if (unlogged.length > 0) unlogged = await auditByMap(audit, revision, unlogged)
  if (unlogged.length > 0) await auditUnlogged(audit, unlogged)
}

/** Audits the messages that have a row by this envelope map (null: the current one), and returns the others. */
async function auditByMap(
  audit: Audit,
  revision: string | null,
  reads: readonly ParsedRead[],
): Promise<ParsedRead[]> {
  const { needs, audited } = audit
  const { parse, findRows } = needs
  const parsed = await Promise.all(
    reads.map((read) => (revision === null ? read.parsed : parse(audited.topic, read.message, revision))),
  )
  const eventIds = parsed.flatMap((result) => (result.kind === 'event' ? [result.event.eventId] : []))
  const rows = eventIds.length === 0 ? new Map<string, LoggedRow>() : await findRows(eventIds)
  const unlogged: ParsedRead[] = []
  const conflicting: (Read & { readonly row: LoggedRow; readonly differences: readonly string[] })[] = []
  for (const [i, read] of reads.entries()) {
    const result = parsed[i]
    const row = result?.kind === 'event' ? rows.get(result.event.eventId) : undefined
    if (row === undefined || result?.kind !== 'event') unlogged.push(read)
    else {
      const differences = await auditLogged(audit, read, result.event, row)
      if (differences.length > 0) conflicting.push({ ...read, row, differences })
    }
  }
  if (conflicting.length > 0) await auditConflicts(audit, conflicting)
  return unlogged
}

/** Messages that differ from the row of another message with their event id must be rejected. */
async function auditConflicts(
  audit: Audit,
  conflicting: readonly (Read & { readonly row: LoggedRow; readonly differences: readonly string[] })[],
): Promise<void> {
  const { needs, audited, counts } = audit
  const messages = conflicting.map(({ message }) => message)
  const rejected = await needs.findRejected(audited, messages)
  for (const { message, row, differences } of conflicting) {
    const kept = rejected.get(message.offset)
    if (kept === undefined) await reportDiffers(audit, message, row, ` ${describeDifferences(differences)}`)
    else counts.conflicts++
    if (kept?.erased) counts.erased++
  }
}

/**
 * The row may come from this message or from another one with the same event id. Returns the differences from another message's
 * row, for the caller to report.
 */
async function auditLogged(
  audit: Audit,
  { message, fate }: Read,
  event: Event,
  row: LoggedRow,
): Promise<readonly string[]> {
  const { needs, audited, counts } = audit
  const place = { ...audited, offset: message.offset }
  const isOwn = isOwnRow(row, place)
  if (fate !== 'committed') {
    const end = fate === 'open' ? 'has no end' : 'was aborted'
    if (isOwn) await reportDiffers(audit, message, row, ` is its row, although its transaction ${end}`)
    // An aborted event that was published again shares the row of the committed message.
    else counts.aborted++
    return []
  }
  if (row.origin === null) {
    await reportDiffers(audit, message, row, ' is its row, but no decision explains it')
    return []
  }
  const readBy: ReadBy = (revision) => needs.parse(audited.topic, message, revision)
  if (!isOwn) {
    const differences = await findConflict(row, place, event, readBy)
    if (differences.length === 0) counts.duplicates++
    return differences
  }
  const columns = await compareColumns(row, event, readBy)
  if (columns.length > 0) await reportDiffers(audit, message, row, `: ${columns.join(', ')}`)
  else counts.rows++
  if (row.erased) counts.erased++
  return []
}

async function reportDiffers(
  audit: Audit,
  { offset }: Message,
  { eventId, locator }: LoggedRow,
  detail: string,
): Promise<void> {
  audit.counts.differs++
  await report(audit, 'differs', offset, { eventId, locator, detail: `${locator}${detail}` })
}

/** Compares a row with its own message, as read by the envelope map in force or by that of the row's time. */
async function compareColumns(
  { eventType, partyLocator, envelopeMapRevision }: LoggedRow,
  event: Event,
  readBy: ReadBy,
): Promise<string[]> {
  if (eventType === event.eventType && partyLocator === event.partyLocator) return []
  const then = envelopeMapRevision === null ? null : await readBy(envelopeMapRevision)
  const published = then?.kind === 'event' ? then.event : event
  return [
    ...compareColumn('event_type', eventType, published.eventType),
    ...compareColumn('party_locator', partyLocator, published.partyLocator),
  ]
}

/** Reads the prunings and skips after the rows, so that they explain a row pruned meanwhile. */
async function auditUnlogged(audit: Audit, unlogged: readonly ParsedRead[]): Promise<void> {
  const { needs, audited, counts } = audit
  const messages = unlogged.map(({ message }) => message)
  const [rejected, prunings, skips] = await Promise.all([
    needs.findRejected(audited, messages),
    needs.prunings(audited),
    needs.skips(audited),
  ])
  for (const { message, fate, parsed } of unlogged) {
    const { offset, timestampMs } = message
    const kept = rejected.get(offset)
    if (kept !== undefined && fate !== 'committed') {
      counts.differs++
      const detail = 'it is stored as a rejected message, although its transaction was not committed'
      await report(audit, 'differs', offset, { detail })
    } else if (kept !== undefined) {
      counts.rejected++
      if (kept.erased) counts.erased++
    } else if (fate !== 'committed') counts.aborted++
    else if (skips.some(({ from, to }) => from <= offset && offset <= to)) counts.skipped++
    else if (isPruned(prunings, offset, timestampMs)) counts.pruned++
    else {
      counts.missing++
      await report(audit, 'missing', offset, describeMissing(parsed))
    }
  }
}

function isProcessed({ checkpoint }: AuditedPartition, offset: bigint): boolean {
  return checkpoint !== null && offset <= checkpoint
}

async function report(
  { needs, audited: { topic, partition } }: Audit,
  kind: AuditFinding['kind'],
  offset: bigint,
  found: Omit<AuditFinding, 'kind' | 'topic' | 'partition' | 'offset'>,
): Promise<void> {
  await needs.report({ kind, topic, partition, offset: String(offset), ...found })
}

function compareColumn(column: string, stored: string | null, published: string | null): string[] {
  if (stored === published) return []
  return [`${column} is ${JSON.stringify(stored)}, but the message has ${JSON.stringify(published)}`]
}

function describeMissing(parsed: ParsedRead['parsed']): Pick<AuditFinding, 'eventId' | 'detail'> {
  if (parsed.kind === 'rejection')
    return { detail: `not a valid event (${parsed.rejection.error}), but not stored as a rejected message` }
  const { eventId, eventType } = parsed.event
  return {
    eventId,
    detail: `event ${JSON.stringify(eventId)} of type ${JSON.stringify(eventType)} has no row`,
  }
}

function offsetCount(first: bigint, last: bigint): number {
  return first <= last ? Number(last - first + 1n) : 0
}
