import type { Brokers, PartitionEnds } from '../../service/consume/brokers.ts'
import { READ_UNCOMMITTED } from '../../service/consume/fetch-request.ts'
import { partitionKey } from '../../service/decide/event/position.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { readCheckpointOffsets } from '../../service/store/read/list-checkpoints.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import type { Since } from '../../service/time/duration.ts'
import { UsageError } from '../../terminal/options.ts'
import type { AuditedPartition } from './audit-finding.ts'

/** The part of the log that the options select. */
export interface Range {
  readonly topic?: string
  readonly since?: Since
  readonly until?: Since
}

/**
 * The partitions to audit, each with its offsets; `since` skips the messages before the first recent one, since times in a
 * partition need not ascend. Reads checkpoints before the ends, so that a moving one is not beyond the end. Throws UsageError, and
 * CorrectableError if the brokers do not serve a topic.
 */
export async function choosePartitions(
  pool: DatabasePool,
  brokers: Brokers,
  configured: readonly string[],
  range: Range,
): Promise<readonly AuditedPartition[]> {
  const topics = range.topic === undefined ? configured : [range.topic]
  const [since, until] = [await toMilliseconds(pool, range.since), await toMilliseconds(pool, range.until)]
  if (since !== null && until !== null && since > until) throw new UsageError('--since is later than --until')
  const checkpoints = await readCheckpointOffsets(pool, topics)
  const chosen = await readEnds(brokers, topics)
  const first = since === null ? null : await brokers.firstSince(chosen, since, READ_UNCOMMITTED)
  return chosen.map(({ topic, partition, earliest, end }) => {
    const key = partitionKey({ topic, partition })
    const from = first === null ? 0n : (first.get(key) ?? end)
    const checkpoint = checkpoints.get(key) ?? null
    return { topic, partition, earliest, from, end, checkpoint, untilMs: until }
  })
}

async function readEnds(brokers: Brokers, topics: readonly string[]): Promise<readonly PartitionEnds[]> {
  const ends = [...(await brokers.readEnds(topics, READ_UNCOMMITTED).catch(asUnreachable)).values()]
  for (const [name, { reason }] of brokers.listUnserved(topics))
    if (reason === 'no-leader') throw new CorrectableError(`${name} has no leader: audit it once it has one`)
  return topics.flatMap((topic) => {
    const partitions = ends.filter((found) => found.topic === topic).sort((a, b) => a.partition - b.partition)
    if (partitions.length === 0)
      throw new CorrectableError(
        `the broker has no topic ${topic}, or does not let us read it: correct its name, or grant READ`,
      )
    return partitions
  })
}

export function asUnreachable(cause: Error): never {
  throw new CorrectableError(
    `the brokers of MQ_BROKERS cannot be used (${cause.message}): run the command \`doctor\` to find out why`,
    { cause },
  )
}

/** In ms since 1970. */
async function toMilliseconds(pool: DatabasePool, when: Since | undefined): Promise<number | null> {
  return when === undefined ? null : Date.parse(await resolveTime(pool, when))
}
