import type { BrokerMetadata } from 'kafkajs'
import errors from 'kafkajs/src/protocol/error.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import type { BlockReason } from '../../core/batch/block-reasons.ts'

/** A topic or partition that kafkajs cannot fetch, with the start of the problem in ms since 1970. */
export interface Unserved {
  readonly topic: string
  readonly reason: Extract<BlockReason, 'no-rights' | 'no-leader'>
  readonly sinceMs: number
}

/** Kafka's code for a topic that this user may not see; it has no partitions. */
const NO_RIGHTS = 29
/** By `topic` or `topic/partition`, from the last metadata. */
const unserved = new Map<string, Unserved>()

/**
 * Patches `protocol/requests/metadata/v0/response.js` of kafkajs 2.2.4, which all versions share: if one partition has no leader
 * or one topic may not be read, it rejects the whole response, which stops all partitions. Patched, a partition without a leader
 * is led by broker -1, which gets no requests.
 */
export function patchMetadataErrors(): void {
  const { versions, protocol } = requests.requests.Metadata
  for (const version of versions) {
    const { response } = protocol({ version })({ topics: [] })
    response.parse = async (metadata: BrokerMetadata) => {
      for (const { topic, topicErrorCode, partitionMetadata } of metadata.topicMetadata) {
        note(topic, topic, topicErrorCode === NO_RIGHTS, 'no-rights')
        for (const { partitionId, leader } of partitionMetadata)
          note(`${topic}/${partitionId}`, topic, leader < 0, 'no-leader')
      }
      const failed = metadata.topicMetadata.find(
        ({ topicErrorCode }) => topicErrorCode !== 0 && topicErrorCode !== NO_RIGHTS,
      )
      if (failed !== undefined) throw errors.createErrorFromCode(failed.topicErrorCode)
      return metadata
    }
  }
}

function note(name: string, topic: string, isUnserved: boolean, reason: Unserved['reason']): void {
  if (!isUnserved) unserved.delete(name)
  else if (!unserved.has(name)) unserved.set(name, { topic, reason, sinceMs: Date.now() })
}

/** The reason, by the last metadata, why kafkajs fetches nothing of a partition, or null. */
export function unservedReason(topic: string, partition: number): Unserved | null {
  return unserved.get(topic) ?? unserved.get(`${topic}/${partition}`) ?? null
}

/** Unserved topics and partitions among these topics, by `topic` or `topic/partition`. */
export function listUnserved(topics: readonly string[]): readonly (readonly [string, Unserved])[] {
  return [...unserved].filter(([, { topic }]) => topics.includes(topic))
}
