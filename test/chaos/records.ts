import { randomBytes } from 'node:crypto'
import kafkajs from 'kafkajs'
import { endOffsets, type Offsets } from '../stack/topics.ts'
import { until } from '../stack/until.ts'

/** One record as the broker keeps it. */
export interface KafkaRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
}

const READ_TIMEOUT_MS = 60_000

/** All records that the broker keeps of some topics, read by a consumer of our own: the input, as it really came out. */
export class Records {
  readonly #brokers: string
  readonly #topics: readonly string[]
  readonly #byPartition = new Map<string, KafkaRecord[]>()

  constructor(brokers: string, topics: readonly string[]) {
    this.#brokers = brokers
    this.#topics = topics
  }

  all(): KafkaRecord[] {
    return [...this.#byPartition.values()].flat()
  }

  /** Reads on to what is now the end of each partition; returns the ends by topic. */
  async readOn(): Promise<Map<string, Offsets>> {
    const ends = new Map<string, Offsets>()
    for (const topic of this.#topics) {
      const ofTopic = await until(() => endOffsets(this.#brokers, topic), {
        what: `the end offsets of ${topic}`,
        timeoutMs: READ_TIMEOUT_MS,
      })
      ends.set(topic, ofTopic)
    }
    if (!this.#hasReached(ends)) await this.#consumeUpTo(ends)
    return ends
  }

  async #consumeUpTo(ends: ReadonlyMap<string, Offsets>): Promise<void> {
    const consumer = new kafkajs.Kafka({
      clientId: 'chaos-reader',
      brokers: [this.#brokers],
      logLevel: kafkajs.logLevel.NOTHING,
    }).consumer({ groupId: `chaos-reader-${randomBytes(6).toString('hex')}`, maxWaitTimeInMs: 100 })
    await consumer.connect()
    try {
      await consumer.subscribe({ topics: [...this.#topics], fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachBatch: async ({ batch }) => {
          for (const { offset, key, value } of batch.messages) {
            this.#take({ topic: batch.topic, partition: batch.partition, offset: Number(offset), key, value })
          }
        },
      })
      for (const [topic, ofTopic] of ends) {
        for (const partition of Object.keys(ofTopic).map(Number)) {
          consumer.seek({ topic, partition, offset: String(this.#read(topic, partition).length) })
        }
      }
      await until(() => this.#hasReached(ends), {
        what: 'all records to be read',
        timeoutMs: READ_TIMEOUT_MS,
        intervalMs: 20,
      })
    } finally {
      await consumer.disconnect()
    }
  }

  /** The run's topics have no gaps (nothing is compacted, aborted or retired), so that offsets are indexes. */
  #take(record: KafkaRecord): void {
    const read = this.#read(record.topic, record.partition)
    if (record.offset > read.length) throw new Error(`the broker left out offsets before ${record.offset}`)
    if (record.offset === read.length) read.push(record)
  }

  #read(topic: string, partition: number): KafkaRecord[] {
    const name = `${topic}/${partition}`
    const read = this.#byPartition.get(name) ?? []
    this.#byPartition.set(name, read)
    return read
  }

  #hasReached(ends: ReadonlyMap<string, Offsets>): boolean {
    return [...ends].every(([topic, ofTopic]) =>
      Object.entries(ofTopic).every(([partition, end]) => this.#read(topic, Number(partition)).length >= end),
    )
  }
}
