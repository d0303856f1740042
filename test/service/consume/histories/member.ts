import { decodeFetchResponse } from '../../../../src/service/consume/fetch-request.ts'
import type { PartitionConsumer } from '../../../../src/service/consume/partition.ts'
import type { Random } from '../../../stack/random.ts'
import { writeFetchResponse } from '../write-fetch-response.ts'
import type { PartitionLog } from './log.ts'

const VERSION = 11
const OFFSET_OUT_OF_RANGE = 1
/** UNKNOWN, NOT_LEADER_FOR_PARTITION and KAFKA_STORAGE_ERROR. */
const ERRORS = [-1, 6, 56] as const

/** A fetch from one broker that is not handed over yet. */
interface SentFetch {
  readonly consumer: PartitionConsumer
  readonly from: bigint
  readonly response: Buffer
}

/**
 * A member of a consumer group with one partition. The caller decides when a request is sent and when its answer arrives. While the
 * leader moves, a fetch of each broker can be in flight.
 */
export class Member {
  readonly #log: PartitionLog
  readonly #random: Random
  readonly #fetches: [SentFetch | null, SentFetch | null] = [null, null]
  #leader = 0
  fetchBytesMax = 1_000
  isFailing = false

  constructor(log: PartitionLog, random: Random) {
    this.#log = log
    this.#random = random
  }

  moveLeader(): void {
    this.#leader = 1 - this.#leader
  }

  /** Advances the fetch from one of the two brokers by one step. */
  step(consumer: PartitionConsumer | undefined): void {
    const node = this.#random.below(2) as 0 | 1
    const sent = this.#fetches[node]
    if (sent !== null) {
      this.#fetches[node] = null
      const [fetched] = decodeFetchResponse(sent.response, VERSION).responses
      if (fetched !== undefined) sent.consumer.offer(fetched, sent.from)
    } else if (node === this.#leader && consumer !== undefined && consumer.wanted !== null) {
      const from = consumer.wanted
      this.#fetches[node] = { consumer, from, response: this.#respond(Number(from)) }
    }
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
