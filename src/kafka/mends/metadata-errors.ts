import errors from 'kafkajs/src/protocol/error.js'
import requests from 'kafkajs/src/protocol/requests/index.js'

interface Metadata {
  readonly topicMetadata: readonly {
    readonly topic: string
    readonly topicErrorCode: number
    readonly partitionMetadata: readonly { readonly partitionErrorCode: number }[]
  }[]
}

/** A topic that we may not see is one without partitions. */
const NO_RIGHTS = 29
const hidden = new Set<string>()
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
      for (const { topic, topicErrorCode } of metadata.topicMetadata) {
        if (topicErrorCode === NO_RIGHTS) hidden.add(topic)
        else hidden.delete(topic)
      }
      const failed = metadata.topicMetadata.find(
        ({ topicErrorCode }) => topicErrorCode !== 0 && topicErrorCode !== NO_RIGHTS,
      )
      if (failed !== undefined) throw errors.createErrorFromCode(failed.topicErrorCode)
      return metadata
    }
  }
}

/** Whether the brokers let us see this topic, as far as they were asked. */
export function isVisible(topic: string): boolean {
  return !hidden.has(topic)
}
