import type { Kafka, KafkaMessage } from 'kafkajs'

/** The private part of kafkajs that its clients share: requests to a chosen broker. */
export interface Cluster {
  connect(): Promise<void>
  disconnect(): Promise<void>
  /** Rejects, and forgets them, where one of them does not exist. */
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>
  /** Of the whole cluster. */
  metadata(): Promise<{
    readonly brokers: readonly unknown[]
    readonly topicMetadata: readonly { readonly topic: string }[]
  }>
  refreshMetadata(): Promise<void>
  refreshMetadataIfNecessary(): Promise<void>
  /** As of the last refresh; the leader is -1 where there is none. */
  findTopicPartitionMetadata(topic: string): { readonly partitionId: number; readonly leader: number }[]
  findBroker(of: { nodeId: string }): Promise<Broker>
  findGroupCoordinator(of: { groupId: string }): Promise<Broker>
}

/** A request sees all of the log, or only the part before the first open transaction. */
export const READ_UNCOMMITTED = 0
export const READ_COMMITTED = 1
export type IsolationLevel = typeof READ_UNCOMMITTED | typeof READ_COMMITTED

interface Broker {
  listOffsets(request: {
    readonly isolationLevel: IsolationLevel
    /** A time in milliseconds, -1 for the end, -2 for the first offset. */
    readonly topics: readonly {
      readonly topic: string
      readonly partitions: readonly { readonly partition: number; readonly timestamp: string }[]
    }[]
  }): Promise<{
    readonly responses: readonly {
      readonly topic: string
      readonly partitions: readonly { readonly partition: number; readonly offset: string }[]
    }[]
  }>
  describeGroups(request: { readonly groupIds: readonly string[] }): Promise<{
    readonly groups: readonly { readonly members: readonly { readonly memberAssignment: Buffer }[] }[]
  }>
  fetch(request: {
    readonly maxWaitTime: number
    readonly maxBytes: number
    readonly isolationLevel: IsolationLevel
    readonly topics: readonly {
      readonly topic: string
      readonly partitions: readonly {
        readonly partition: number
        readonly fetchOffset: string
        readonly maxBytes: number
      }[]
    }[]
  }): Promise<{
    readonly responses: readonly { readonly partitions: readonly { readonly messages: KafkaMessage[] }[] }[]
  }>
}

/** @param metadataAgeMaxMs how old its knowledge of topics and leaders may be */
export function createCluster(kafka: Kafka, metadataAgeMaxMs: number): Cluster {
  const create = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  if (create === undefined) throw new Error('this version of kafkajs makes its clients in another way')
  return Reflect.get(kafka, create)({ metadataMaxAge: metadataAgeMaxMs, allowAutoTopicCreation: false })
}
