import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'

/**
 * Mends `consumer/offsetManager/index.js` of kafkajs 2.2.4: before it fetches anything it asks Kafka for the group's offset
 * of every partition, and for the earliest where there is none, and an error of one of them stops all. Ours come from
 * the database, so nothing is asked. No partition is fetched before it is sought.
 */
export function mendGroupOffsets(): void {
  OffsetManager.prototype.resolveOffsets = async function resolveOffsets(): Promise<void> {
    for (const [topic, partitions] of Object.entries(this.memberAssignment)) {
      const offsets = this.committedOffsets()[topic] ?? {}
      for (const partition of partitions) offsets[partition] ??= '0'
      this.committedOffsets()[topic] = offsets
    }
  }
}
