import type { AuditedPartition } from '../../core/audit/finding.ts'
import type { Fingerprint } from '../../core/batch/checkpoint.ts'
import { compareLast } from '../../core/batch/position.ts'
import type { LogExtent, OpenLog } from '../../kafka/open-log.ts'
import type { DatabasePool } from '../../postgres/connection/pool.ts'
import { listCheckpoints } from '../../postgres/read/list-checkpoints.ts'
import { type Since, timeOf } from '../terminal/since.ts'
import { UsageError } from '../terminal/usage-error.ts'

/** What is to be audited. */
export interface Range {
  readonly topic?: string
  readonly partition?: bigint
  readonly since?: Since
  readonly until?: Since
  readonly from?: bigint
  readonly to?: bigint
}

/**
 * The partitions to be audited, each with its offsets. The checkpoints are read before the ends, so that one
 * that moves meanwhile does not lie beyond the end. The times of a partition need not ascend:
 * all before the first message that is young enough are too old, but one that is old enough may come last. Throws UsageError.
 */
export async function choosePartitions(
  pool: DatabasePool,
  log: OpenLog,
  configured: readonly string[],
  range: Range,
): Promise<readonly AuditedPartition[]> {
  const topics = range.topic === undefined ? configured : [range.topic]
  const [since, until] = [await millisecondsOf(pool, range.since), await millisecondsOf(pool, range.until)]
  if (since !== null && until !== null && since > until) throw new UsageError('--since is later than --until')
  const checkpoints = new Map(
    (await listCheckpoints(pool, topics)).map((checkpoint) => [
      `${checkpoint.topic}/${checkpoint.partition}`,
      checkpoint,
    ]),
  )
  const extents: (LogExtent & { from: bigint; to: bigint })[] = []
  for (const topic of topics) {
    const all = await log.extents(topic)
    const some = all.filter(
      ({ partition }) => range.partition === undefined || BigInt(partition) === range.partition,
    )
    if (some.length === 0)
      throw new UsageError(`${topic} has ${all.length} partitions, and none is ${range.partition}`)
    const froms = since === null ? null : await log.firstSince(some, since)
    extents.push(
      ...some.map((extent, i) => ({
        ...extent,
        from: range.from ?? froms?.[i] ?? 0n,
        to: range.to === undefined ? extent.end : range.to + 1n,
      })),
    )
  }
  const chosen = extents.map(async ({ topic, partition, earliest, end: logEnd, from, to }) => {
    const checkpoint = checkpoints.get(`${topic}/${partition}`)
    const extent = { topic, partition, earliest, end: logEnd }
    return {
      topic,
      partition,
      earliest,
      logEnd,
      from,
      end: to < logEnd ? to : logEnd,
      checkpoint: checkpoint?.offset ?? null,
      anotherAt: await anotherAt(log, extent, checkpoint?.lastMessage ?? null),
      untilMs: until,
    }
  })
  return Promise.all(chosen)
}

/** Where the log has another message in place of the one that was processed last, as the consumer judges it. */
async function anotherAt(
  log: OpenLog,
  extent: LogExtent,
  processed: Fingerprint | null,
): Promise<bigint | null> {
  if (processed === null || processed.offset < extent.earliest || processed.offset >= extent.end) return null
  const found = await log.fingerprintAt(extent, processed.offset)
  return compareLast(processed, found) === 'another' ? processed.offset : null
}

/** Since 1970. */
async function millisecondsOf(pool: DatabasePool, when: Since | undefined): Promise<number | null> {
  return when === undefined ? null : Date.parse(await timeOf(pool, when))
}
