import type { CommittedOffset } from '../../service/consume/group-offsets.ts'
import { describeDatabase, describeLost, judgeCommitted } from '../../service/consume/offset-faults.ts'
import { partitionKey } from '../../service/decide/event/position.ts'
import type { AuditedPartition, AuditFinding, Counts } from './audit-finding.ts'

/** Findings about the offsets that the group committed to Kafka for these partitions; `sum` counts them. */
export function judgeOffsets(
  partitions: readonly AuditedPartition[],
  committed: readonly CommittedOffset[],
  ownId: string,
  sum: Counts,
): readonly AuditFinding[] {
  const byPartition = new Map(committed.map((offset) => [partitionKey(offset), offset]))
  return partitions.flatMap(({ topic, partition, checkpoint }): AuditFinding[] => {
    const kafkaOffset = byPartition.get(partitionKey({ topic, partition }))
    const fault = kafkaOffset === undefined ? null : judgeCommitted(kafkaOffset, ownId, checkpoint ?? -1n)
    if (fault === null) return []
    const place = { topic, partition, offset: String((checkpoint ?? -1n) + 1n) }
    if (fault.kind === 'lost') {
      sum.lost += Number(fault.count)
      return [{ kind: fault.kind, ...place, detail: describeLost(fault.count) }]
    }
    sum.foreign++
    const detail = `the offset in Kafka is of the database ${describeDatabase(fault.database)}, and this one is ${ownId}`
    return [{ kind: fault.kind, ...place, detail }]
  })
}
