import errors from 'kafkajs/src/protocol/error.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import type { BlockReason } from '../../core/batch/blocked.ts'

interface Metadata {
  readonly topicMetadata: readonly {
    readonly topic: string
    readonly topicErrorCode: number
    readonly partitionMetadata: readonly {
      readonly partitionErrorCode: number
      readonly partitionId: number
      readonly leader: number
    }[]
  }[]
}

/** Why kafkajs fetches nothing of a partition, and since when, in ms since 1970. */
export interface Unserved {
  readonly reason: Extract<BlockReason, 'no-rights' | 'no-leader'>
  readonly sinceMs: number
}

/** A topic that we may not see is one without partitions. */
const NO_RIGHTS = 29
/** As the brokers said last: topics by name, partitions as `topic/partition`. */
const unserved = new Map<string, Unserved>()
let mended = false

/**
 * Mends `protocol/requests/metadata/v0/response.js` of kafkajs 2.2.4, which all versions share: it throws the whole response
 * away where one partition has no leader, or one topic may not be read, and with it the consumption of all others. A
 * partition without a leader is led by broker -1 here, which nobody asks for anything.
 */
export function mendMetadataErrors(): void {
  if (mended) return
  mended = true
  const { versions, protocol } = requests.requests.Metadata
  for (const version of versions) {
    const { response } = protocol({ version })({ topics: [] })
    response.parse = async (metadata: Metadata) => {
      for (const { topic, topicErrorCode, partitionMetadata } of metadata.topicMetadata) {
        note(topic, topicErrorCode === NO_RIGHTS, 'no-rights')
        for (const { partitionId, leader } of partitionMetadata)
          note(`${topic}/${partitionId}`, leader < 0, 'no-leader')
      }
      const failed = metadata.topicMetadata.find(
        ({ topicErrorCode }) => topicErrorCode !== 0 && topicErrorCode !== NO_RIGHTS,
      )
      if (failed !== undefined) throw errors.createErrorFromCode(failed.topicErrorCode)
      return metadata
    }
  }
}

function note(name: string, isUnserved: boolean, reason: Unserved['reason']): void {
  if (!isUnserved) unserved.delete(name)
  else if (!unserved.has(name)) unserved.set(name, { reason, sinceMs: Date.now() })
}

/** What keeps kafkajs from fetching a partition, as far as the brokers were asked; null: nothing. */
export function unservedReason(topic: string, partition: number): Unserved | null {
  return unserved.get(topic) ?? unserved.get(`${topic}/${partition}`) ?? null
}

/** What of these topics is not served, by `topic` or `topic/partition`, as far as the brokers were asked. */
export function listUnserved(topics: readonly string[]): readonly (readonly [string, Unserved])[] {
  return [...unserved].filter(([name]) => topics.includes(name.replace(/\/\d+$/, '')))
}
