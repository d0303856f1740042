import type { Brokers } from '../consume/brokers.ts'
import { type Inspection, inspectPartition } from '../consume/inspect-partition.ts'
import type { Checkpoint } from '../decide/event/position.ts'
import { REJECTIONS } from '../decide/event/rejection.ts'
import { BLOCK_REASONS } from '../model/block-reasons.ts'
import type { SkipTarget, TakenRequest } from '../model/request/schemas.ts'
import type { DatabasePool } from '../store/connection/pool.ts'
import { ensureCheckpoint } from '../store/write/checkpoints.ts'
import { skipUnreadable, type Unreadable } from '../store/write/skip-unreadable.ts'
import { CorrectableError } from '../text/faults.ts'

type Inspect = (from: bigint) => Promise<Inspection>

/** The skipped bytes and their faults, for the record. */
interface Found {
  readonly bytes: Buffer[]
  readonly details: string[]
}

/** Skips the unreadable batch of a request, and records its end. Returns why nothing was skipped, or null. */
export async function skipBatch(
  pool: DatabasePool,
  brokers: Brokers,
  request: TakenRequest,
  target: SkipTarget,
): Promise<string | null> {
  const { topic, partition } = target
  const inspect = (from: bigint) => inspectPartition(brokers, { topic, partition }, from)
  try {
    const checkpoint = await ensureCheckpoint(pool, topic, partition)
    await skipUnreadable(pool, request, await findBatch(inspect, checkpoint, request, target))
    return null
  } catch (error) {
    if (error instanceof CorrectableError) return error.message
    throw error
  }
}

/**
 * Finds the unreadable batch of a request: what to skip. Throws CorrectableError if the partition is at another offset, or if
 * anything of it can be read.
 */
async function findBatch(
  inspect: Inspect,
  { offset: checkpoint }: Checkpoint,
  { by, because }: Pick<TakenRequest, 'by' | 'because'>,
  target: SkipTarget,
): Promise<Unreadable> {
  const { topic, partition } = target
  const from = BigInt(target.offset)
  if (checkpoint !== from - 1n) {
    const then = checkpoint < from ? `offset ${from} is not the next one` : 'nothing to skip'
    throw new CorrectableError(`${topic}/${partition} is processed up to offset ${checkpoint}: ${then}`)
  }
  const to = target.to === undefined ? await findEnd(inspect, from) : BigInt(target.to)
  const found = await inspectAll(inspect, from, to)
  const error = [
    `${REJECTIONS.unreadable}: ${found.details.join('; ')}`,
    `skipped offsets ${from} to ${to} by ${by}`,
    `because: ${because}`,
  ].join('; ')
  const rejection = { code: 'unreadable' as const, error }
  return { topic, partition, checkpoint, to, bytes: Buffer.concat(found.bytes), rejection }
}

/** The last offset of the unreadable batch that begins at an offset. */
async function findEnd(inspect: Inspect, from: bigint): Promise<bigint> {
  const inspected = await inspect(from)
  if (inspected.kind !== 'unreadable') return from
  const { next, last } = inspected
  if (next === null && last === null)
    throw new CorrectableError('the end of the batch cannot be found: name its last offset')
  return next === null ? (last ?? from) : next - 1n
}

/** @internal Throws if anything up to `to` is readable. */
export async function inspectAll(inspect: Inspect, from: bigint, to: bigint): Promise<Found> {
  const found: Found = { bytes: [], details: [] }
  for (let at = from; at <= to; ) {
    const inspected = await inspect(at)
    const refusal = whyNotSkipped(inspected, at, from, to)
    if (refusal !== null) throw new CorrectableError(`nothing was skipped: ${refusal}`)
    if (inspected.kind !== 'unreadable') break
    const { detail, bytes, next, last } = inspected
    if (!found.details.includes(detail)) {
      found.details.push(detail)
      found.bytes.push(bytes)
    }
    // A fetch may end with the damaged batch: then its last offset shows where the next one begins.
    const following = next ?? (last === null ? to : last + 1n)
    at = following > at ? following : to + 1n
  }
  return found
}

function whyNotSkipped(inspected: Inspection, at: bigint, from: bigint, to: bigint): string | null {
  if (inspected.kind === 'end') return `the partition has nothing from offset ${at} on`
  if (inspected.kind === 'readable') {
    const { offset, begin } = inspected
    if (begin > from && begin <= to) return `offset ${begin} can be read`
    return offset > to ? null : `offset ${offset} can be read`
  }
  return BLOCK_REASONS[inspected.reason].isSkippable
    ? null
    : `the broker does not serve the partition: ${inspected.detail}`
}
