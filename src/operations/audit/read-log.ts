import type { FetchedBytes } from '../../service/consume/fetch-request.ts'
import { inspect } from '../../service/consume/inspect-partition.ts'
import {
  afterDamage,
  type BatchHeader,
  HEADER_BYTES,
  isIntact,
  readBatchHeader,
  readOffsets,
  requireInOrder,
  splitBatches,
} from '../../service/consume/records/batches.ts'
import { decodeRecords, findRecordSet } from '../../service/consume/records/record-set.ts'
import { MalformedBatch } from '../../service/consume/records/unreadable.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import type { Fate, LogPiece, OffsetRange } from './audit-finding.ts'

export interface LogSource {
  /** Fetches the log from an offset on, including aborted and open transactions. */
  readonly fetch: (from: bigint, bytesMax: number) => Promise<FetchedBytes>
  readonly earliest: () => Promise<bigint>
}

interface Stretch {
  readonly bytes: Buffer
  readonly from: bigint
  readonly next: bigint
}

const FETCH_BYTES = 1024 * 1024

/**
 * Reads a partition's log from an offset to its end, in bounded memory. A message's fate follows from the marker that ends its
 * transaction, not from the broker's list of aborted transactions, which the consumer uses. Rejects if the broker does not serve
 * the log.
 */
export async function* readLog(
  source: LogSource,
  { from, end }: Pick<OffsetRange, 'from' | 'end'>,
): AsyncGenerator<LogPiece> {
  const transactions = createTransactionEnds(source, end)
  for (let at = from; at < end; ) {
    const stretch = await readStretch(source, at)
    if (stretch === null) {
      const first = await firstAfter(source, at)
      yield { kind: 'removed', first: at, last: (first < end ? first : end) - 1n }
      at = first
      continue
    }
    transactions.note(stretch)
    transactions.forget(at)
    at = yield* readPieces(source, stretch, end, transactions.findFate)
  }
}

/** Null if the broker no longer has this offset; empty at the end of the log. */
async function readStretch(source: LogSource, from: bigint): Promise<Stretch | null> {
  const { error, bytes } = await source.fetch(from, FETCH_BYTES)
  if (error === 'OFFSET_OUT_OF_RANGE') return null
  if (error !== null)
    throw new CorrectableError(
      `the broker does not serve offset ${from}: ${error}. Check the rights (READ) and the partition's leader, and run it again`,
    )
  const intact = afterDamage(bytes, from)
  return { bytes: intact, from, next: (findRecordSet(intact, from, [])?.lastOffset ?? from) + 1n }
}

async function firstAfter({ earliest }: LogSource, at: bigint): Promise<bigint> {
  const first = await earliest()
  if (first <= at)
    throw new CorrectableError(
      `the broker has no offset ${at}, although its log begins at ${first}: it was truncated meanwhile; run it again`,
    )
  return first
}

async function* readPieces(
  source: LogSource,
  { bytes, from, next }: Stretch,
  end: bigint,
  findFate: (header: BatchHeader) => Promise<Fate>,
): AsyncGenerator<LogPiece, bigint> {
  let expected = from
  try {
    const batches = [...splitBatches(bytes)]
    for (const [index, batch] of batches.entries()) {
      const header = requireInOrder(batch, batches[index + 1], expected, from)
      if (!header.isControl && expected < end) {
        const fate = header.isTransactional ? await findFate(header) : 'committed'
        const begin = expected
        try {
          for await (const records of decodeRecords(batch, header)) {
            const messages = records.filter(({ offset }) => offset >= begin && offset < end)
            if (messages.length > 0) yield { kind: 'messages', fate, messages }
            expected = (records.at(-1)?.offset ?? expected) + 1n
          }
        } catch (error) {
          // The consumer skips an aborted batch by its header and never decodes it.
          if (!(error instanceof MalformedBatch) || fate !== 'aborted') throw error
        }
      }
      expected = header.lastOffset + 1n
    }
    if (expected === from) throw new MalformedBatch('the broker sends no whole batch', 'damaged')
    return next
  } catch (error) {
    if (!(error instanceof MalformedBatch)) throw error
    if (expected >= end) return end
    const following = await afterUnreadable(source, expected, end)
    yield { kind: 'unreadable', first: expected, last: following - 1n, detail: error.message }
    return following
  }
}

/** The offset after an unreadable record batch; `end` if it cannot be found. */
async function afterUnreadable(source: LogSource, at: bigint, end: bigint): Promise<bigint> {
  const found = await inspect((bytesMax) => source.fetch(at, bytesMax), at)
  if (found.kind === 'end') return end
  const following = found.kind === 'readable' ? found.begin : (found.next ?? (found.last ?? end) + 1n)
  return following > at && following < end ? following : end
}

/** Fates by the type in the key of a control record. */
const ENDS: readonly (Fate | undefined)[] = ['aborted', 'committed']
/** The record's length, attributes, time, offset and key length take a byte each; its key begins with the version. */
const TYPE_AT = HEADER_BYTES + 5 + 2

/** The ends of transactions: a message's transaction ends with its producer's next marker. */
function createTransactionEnds(source: LogSource, end: bigint) {
  const endsOf = new Map<bigint, { readonly offset: bigint; readonly fate: Fate }[]>()
  let next = 0n

  function note(stretch: Stretch): void {
    if (stretch.next <= next) return
    for (const batch of splitBatches(stretch.bytes)) {
      const end = endIn(batch)
      if (end === null || end.offset < next) continue
      const ends = endsOf.get(end.producerId)
      if (ends === undefined) endsOf.set(end.producerId, [end])
      else ends.push(end)
    }
    next = stretch.next
  }

  return {
    note,
    forget: (before: bigint): void => {
      for (const [producerId, ends] of endsOf) {
        const left = ends.filter(({ offset }) => offset >= before)
        if (left.length === 0) endsOf.delete(producerId)
        else endsOf.set(producerId, left)
      }
    },
    /** The fate of a transactional batch. Reads ahead to the end of its transaction. */
    findFate: async ({ producerId, lastOffset }: BatchHeader): Promise<Fate> => {
      for (;;) {
        const found = endsOf.get(producerId)?.find(({ offset }) => offset > lastOffset)
        if (found !== undefined) return found.fate
        const at = next > lastOffset ? next : lastOffset + 1n
        const ahead = at < end ? await readStretch(source, at) : null
        if (ahead === null || ahead.bytes.length === 0) return 'open'
        note(ahead)
      }
    },
  }
}

/** The end of a transaction; null for any other batch and for an unreadable one. */
function endIn(batch: Buffer) {
  if (batch.length < TYPE_AT + 2 || readOffsets(batch) === null || !isIntact(batch)) return null
  const { isControl, producerId, baseOffset: offset } = readBatchHeader(batch)
  const fate = isControl ? ENDS[batch.readInt16BE(TYPE_AT)] : undefined
  return fate === undefined ? null : { producerId, offset, fate }
}
