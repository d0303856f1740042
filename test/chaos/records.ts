import { type CommittedRecord, type OffsetRange, readCommitted } from '../stack/kafka/read-committed.ts'
import { endOffsets, type Offsets } from '../stack/topics.ts'
import { until } from '../stack/until.ts'

const READ_TIMEOUT_MS = 60_000

/** All records that are committed in some topics, as Kafka's own client reads them: the input, as it really came out. */
export class Records {
  readonly #brokers: string
  readonly #topics: readonly string[]
  readonly #all: CommittedRecord[] = []
  #ends: ReadonlyMap<string, Offsets> = new Map()

  constructor(brokers: string, topics: readonly string[]) {
    this.#brokers = brokers
    this.#topics = topics
  }

  all(): readonly CommittedRecord[] {
    return this.#all
  }

  /** Up to where `all` goes, by topic: the offsets there that are not among them are of aborted records and of markers. */
  get ends(): ReadonlyMap<string, Offsets> {
    return this.#ends
  }

  /** Reads on to what is now the end of each partition. */
  async readOn(): Promise<void> {
    const ends = await this.endsNow()
    const ranges = rangesOf(this.#ends, ends)
    if (ranges.length > 0) this.#all.push(...(await readCommitted(this.#brokers, ranges)))
    this.#ends = ends
  }

  async endsNow(): Promise<Map<string, Offsets>> {
    const ends = new Map<string, Offsets>()
    for (const topic of this.#topics) {
      const ofTopic = await until(() => endOffsets(this.#brokers, topic), {
        what: `the end offsets of ${topic}`,
        timeoutMs: READ_TIMEOUT_MS,
      })
      ends.set(topic, ofTopic)
    }
    return ends
  }
}

/** Without those that are empty. */
function rangesOf(before: ReadonlyMap<string, Offsets>, now: ReadonlyMap<string, Offsets>): OffsetRange[] {
  return [...now].flatMap(([topic, ends]) =>
    Object.entries(ends).flatMap(([name, end]) => {
      const partition = Number(name)
      const from = before.get(topic)?.[partition] ?? 0
      return from < end ? [{ topic, partition, from, end }] : []
    }),
  )
}
