import type { Batch, EachBatchPayload } from 'kafkajs'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import { patchGroupOffsets } from '../../../src/kafka/client.ts'
import { patchFetchResponses } from '../../../src/kafka/patches/fetch-response.ts'
import type { Random } from '../../stack/random.ts'
import { writeFetchResponse } from '../write-fetch-response.ts'
import type { PartitionLog } from './log.ts'

patchFetchResponses()
patchGroupOffsets()

const VERSION = 11
const OFFSET_OUT_OF_RANGE = 1
/** UNKNOWN, NOT_LEADER_FOR_PARTITION and KAFKA_STORAGE_ERROR. */
const ERRORS = [-1, 6, 56] as const
const PARTITIONS = [{ topic: 'claims', partitions: [0] }]

/** The parts of a kafkajs consumer group that a member needs, without joining and network. */
interface Group extends ConsumerGroup {
  readonly subscriptionState: { assign(partitions: typeof PARTITIONS): void }
  offsetManager: OffsetManager
  seek(position: { topic: string; partition: number; offset: string }): void
  pause(partitions: typeof PARTITIONS): void
  resume(partitions: typeof PARTITIONS): void
  isPaused(topic: string, partition: number): boolean
  resolveOffset(position: { topic: string; partition: number; offset: string }): void
}

/** One fetch from one broker: request, response, delivery. */
interface Fetcher {
  answer: (() => void) | null
  fetched: Batch[]
}

/**
 * A member of a consumer group with one partition, in which kafkajs's own code seeks, pauses and handles fetches. The caller
 * decides when a request is sent, answered and delivered. While the leader moves, two fetches can be in flight.
 */
export class Member {
  readonly #log: PartitionLog
  readonly #random: Random
  readonly #group: Group
  readonly #fetchers: [Fetcher, Fetcher] = [
    { answer: null, fetched: [] },
    { answer: null, fetched: [] },
  ]
  #leader = 0
  fetchBytesMax = 1_000
  isFailing = false

  constructor(log: PartitionLog, random: Random) {
    this.#log = log
    this.#random = random
    const ignore = () => {}
    const logger = { namespace: () => ({ debug: ignore, info: ignore, warn: ignore }) }
    const cluster = {
      refreshMetadataIfNecessary: async () => {},
      refreshMetadata: async () => {},
      findTopicPartitionMetadata: () => [{ partitionId: 0, leader: this.#leader }],
      findBroker: async ({ nodeId }: { nodeId: string }) => ({
        fetch: (request: FetchRequest) => this.#answerLater(this.#fetchers[Number(nodeId) as 0 | 1], request),
      }),
    }
    const GroupOf = ConsumerGroup as unknown as new (options: object) => Group
    this.#group = new GroupOf({ logger, cluster, maxBytesPerPartition: 0, autoCommit: false })
  }

  join(): void {
    const ManagerOf = OffsetManager as unknown as new (options: object) => OffsetManager
    this.#group.subscriptionState.assign(PARTITIONS)
    this.#group.offsetManager = new ManagerOf({
      cluster: { committedOffsets: () => ({}) },
      memberAssignment: { claims: [0] },
      autoCommit: false,
      groupId: 'group',
    })
  }

  readonly controls = {
    seek: (offset: bigint) => this.#group.seek({ topic: 'claims', partition: 0, offset: String(offset) }),
    pause: () => this.#group.pause(PARTITIONS),
    resume: () => this.#group.resume(PARTITIONS),
  }

  moveLeader(): void {
    this.#leader = 1 - this.#leader
  }

  /** Advances one of the two fetches by one step. */
  step(eachBatch: (payload: EachBatchPayload) => Promise<void>): void {
    const node = this.#random.below(2) as 0 | 1
    const fetcher = this.#fetchers[node]
    const batch = fetcher.fetched.shift()
    if (batch !== undefined) {
      const resolveOffset = (offset: string) =>
        this.#group.resolveOffset({ topic: 'claims', partition: 0, offset })
      void eachBatch({ batch, resolveOffset } as EachBatchPayload)
    } else if (fetcher.answer !== null) {
      fetcher.answer()
      fetcher.answer = null
    } else if (node === this.#leader && !this.#group.isPaused('claims', 0)) {
      void this.#group.fetch(String(node)).then((batches) => {
        fetcher.fetched = batches.filter((fetched) => !fetched.isEmpty())
      })
    }
  }

  async #answerLater(fetcher: Fetcher, { topics }: FetchRequest): Promise<unknown> {
    const response = this.#respond(Number(topics[0]?.partitions[0]?.fetchOffset))
    await new Promise<void>((resolve) => {
      fetcher.answer = resolve
    })
    const { response: reader } = requests.requests.Fetch.protocol({ version: String(VERSION) })({
      topics: [],
    })
    return reader.parse((await reader.decode(response)) as never)
  }

  #respond(offset: number): Buffer {
    const { below, pick } = this.#random
    if (this.isFailing) return writeFetchResponse(VERSION, [{ error: pick(ERRORS) }])
    if (offset < this.#log.start || offset > this.#log.end) {
      return writeFetchResponse(VERSION, [{ error: OFFSET_OUT_OF_RANGE }])
    }
    const bytesMax = below(3) === 0 ? below(this.fetchBytesMax) : this.fetchBytesMax
    return writeFetchResponse(VERSION, [this.#log.read(offset, bytesMax)])
  }
}

interface FetchRequest {
  readonly topics: readonly { readonly partitions: readonly { readonly fetchOffset: string }[] }[]
}
