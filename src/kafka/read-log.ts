import type { LogPiece, OffsetRange } from '../core/audit/log-piece.ts'
import { CorrectableError } from '../core/text/correctable-error.ts'
import { type Inspected, inspect } from './inspect-partition.ts'
import type { FetchedBytes } from './mends/fetch-response.ts'
import { isIntact } from './records/batch-header.ts'
import { logBatchOf } from './records/log-batch.ts'
import { batchesOf, findIntact, recordSetOf } from './records/record-set.ts'
import { Malformed } from './records/unreadable.ts'
import { createTransactionEnds, type Stretch } from './transaction-ends.ts'

export interface LogSource {
  /** Fetches what the log holds from an offset on, aborted and undecided transactions too. */
  readonly fetch: (from: bigint, bytesMax: number) => Promise<FetchedBytes>
  /** The first offset that the broker still has, asked anew. */
  readonly earliest: () => Promise<bigint>
}

const FETCH_BYTES = 1024 * 1024
const OUT_OF_RANGE = 'OFFSET_OUT_OF_RANGE'

/**
 * Reads a range of a partition's log, and says of each message what became of its transaction. Memory does not grow with
 * the range. Rejects where the broker does not serve it.
 *
 * @param logEnd behind the last offset of the partition, since a transaction may end behind the range
 */
export async function* readLog(
  source: LogSource,
  { from, end }: Pick<OffsetRange, 'from' | 'end'>,
  logEnd: bigint,
): AsyncGenerator<LogPiece> {
  if (from >= end) return
  const transactions = createTransactionEnds(async (at) => (at < logEnd ? await readAhead(source, at) : null))
  /** What is fetched while the stretch before it is read. */
  const ahead = { at: from, stretch: readStretch(source, from) }
  for (let at = from; at < end; ) {
    const stretch = await (ahead.at === at ? ahead.stretch : readStretch(source, at))
    if (stretch === null) {
      const first = await firstAfter(source, at)
      yield { kind: 'removed', first: at, last: (first < end ? first : end) - 1n }
      at = first
      continue
    }
    if (stretch.next < end) {
      Object.assign(ahead, { at: stretch.next, stretch: readStretch(source, stretch.next) })
      // Whoever stops before that does not hear of it.
      ahead.stretch.catch(() => {})
    }
    transactions.note(stretch)
    transactions.forget(at)
    at = yield* readStretchPieces(source, stretch, end, transactions)
  }
}

/** Null where there is nothing that could end a transaction. */
async function readAhead(source: LogSource, from: bigint): Promise<Stretch | null> {
  const stretch = await readStretch(source, from)
  return stretch?.bytes.length ? stretch : null
}

/** Null where the broker no longer has this offset; empty where it has none from there on. */
async function readStretch({ fetch }: LogSource, from: bigint): Promise<Stretch | null> {
  const { error, bytes } = await fetch(from, FETCH_BYTES)
  if (error === OUT_OF_RANGE) return null
  if (error !== null)
    throw new CorrectableError(
      `the broker does not serve offset ${from}: ${error}. Check the rights (READ) and the partition's leader, and run it again`,
    )
  const intact = behindDamage(bytes, from)
  const set = recordSetOf(intact, from, [])
  return { bytes: intact, from, next: set === null ? from + 1n : set.lastOffset + 1n }
}

/** Brokers send a damaged batch for every offset that its header claims, those of the batches behind it included. */
function behindDamage(bytes: Buffer, from: bigint): Buffer {
  const [first] = batchesOf(bytes)
  if (first !== undefined && isIntact(first)) return bytes
  return bytes.subarray(findIntact(bytes, (firstOffset) => firstOffset === from)?.at ?? 0)
}

async function firstAfter({ earliest }: LogSource, at: bigint): Promise<bigint> {
  const first = await earliest()
  if (first <= at)
    throw new CorrectableError(
      `the broker has no offset ${at}, although its log begins at ${first}: it was cut off meanwhile; run it again`,
    )
  return first
}

/** Returns where to read on. */
async function* readStretchPieces(
  source: LogSource,
  { bytes, from, next }: Stretch,
  end: bigint,
  transactions: ReturnType<typeof createTransactionEnds>,
): AsyncGenerator<LogPiece, bigint> {
  let expected = from
  try {
    for (const batchBytes of batchesOf(bytes)) {
      const { firstOffset, lastOffset, producerId, isControl, messages } = logBatchOf(batchBytes)
      if (lastOffset < expected || (firstOffset < expected && expected > from))
        throw new Malformed('its offsets do not follow those before it', 'damaged')
      if (isControl && lastOffset < end) yield { kind: 'control', offset: lastOffset }
      else if (!isControl && expected < end) {
        const fate = producerId === null ? 'committed' : await transactions.fateOf(producerId, lastOffset)
        const first = expected
        try {
          for await (const some of messages()) {
            const wanted = some.filter(({ offset }) => offset >= first && offset < end)
            if (wanted.length > 0) yield { kind: 'messages', fate, messages: wanted }
            expected = (some.at(-1)?.offset ?? expected) + 1n
          }
        } catch (error) {
          // Its checksum is right: the consumer knows by its header alone that it is aborted, and passes over it.
          if (!(error instanceof Malformed) || fate !== 'aborted') throw error
          const [rest, last] = [expected > firstOffset ? expected : firstOffset, lastOffset]
          if (rest < end) yield { kind: 'aborted-rest', first: rest, last: last < end ? last : end - 1n }
        }
      }
      expected = lastOffset + 1n
    }
    if (expected === from) throw new Malformed('the broker sends no whole batch', 'damaged')
    return next
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    if (expected >= end) return end
    const following = await behindUnreadable(source, expected, end)
    yield { kind: 'unreadable', first: expected, last: following - 1n, detail: error.message }
    return following
  }
}

/**
 * Where reading goes on behind what cannot be read; `end` where nobody knows. Asked for an offset whose batch has a damaged
 * one in its header, brokers send what follows it.
 */
async function behindUnreadable({ fetch }: LogSource, at: bigint, end: bigint): Promise<bigint> {
  const inspected = await inspect((bytesMax) => fetch(at, bytesMax), at)
  const following = followingOf(inspected)
  return following !== null && following > at && following < end ? following : end
}

function followingOf(inspected: Inspected): bigint | null {
  if (inspected.kind === 'end') return null
  if (inspected.kind === 'readable') return inspected.begin
  return inspected.next ?? (inspected.last === null ? null : inspected.last + 1n)
}
