import { setTimeout as sleep } from 'node:timers/promises'
import { type CommittedRecord, readCommitted } from '../stack/kafka/read-committed.ts'
import { endOffsets, type Offsets, produce, type TestMessage } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import type { Burst } from './load.ts'
import type { Stack } from './stack.ts'

const RETRY_MS = 500
/** Another broker is asked after this time. */
const ANSWER_MAX_MS = 3_000
const READ_TIMEOUT_MS = 60_000

/** Publishes each burst at its time; a partition whose broker does not answer holds up none of the others. Returns the number of messages. */
export async function publishAll({ brokers, topics }: Stack, bursts: readonly Burst[]): Promise<number> {
  const startedMs = performance.now()
  const last = new Map<string, Promise<void>>()
  for (const { atMs, messages } of bursts) {
    await sleep(Math.max(atMs - (performance.now() - startedMs), 0))
    const byPlace = Map.groupBy(messages, ({ topic, partition }) => `${topic}/${partition}`)
    for (const [place, ofPlace] of byPlace) {
      const named = ofPlace.map((message) => ({ ...message, topic: topics[message.topic] }))
      const before = last.get(place) ?? Promise.resolve()
      last.set(
        place,
        before.then(() => publish(brokers, named)),
      )
    }
  }
  await Promise.all(last.values())
  return bursts.reduce((count, { messages }) => count + messages.length, 0)
}

/** Publishes all again if the outcome is uncertain, as while the broker is down: it may have them twice, but never misses one. */
export async function publish(brokers: string, messages: TestMessage[]): Promise<void> {
  for (let areThere = false; !areThere; ) {
    areThere = await produce(brokers, messages, { requestTimeout: ANSWER_MAX_MS }).then(
      () => true,
      () => sleep(RETRY_MS, false),
    )
  }
}

/** All committed records of the topics, as Kafka's own client reads them, up to `ends` by topic. */
export class Records {
  readonly #brokers: string
  readonly #topics: readonly string[]
  readonly all: CommittedRecord[] = []
  ends: ReadonlyMap<string, Offsets> = new Map()

  constructor(brokers: string, topics: readonly string[]) {
    this.#brokers = brokers
    this.#topics = topics
  }

  /** Reads on to the present end of each partition. */
  async readOn(): Promise<void> {
    const ends = await this.endsNow()
    const ranges = [...ends].flatMap(([topic, ofTopic]) =>
      Object.entries(ofTopic).map(([name, end]) => {
        const partition = Number(name)
        return { topic, partition, from: this.ends.get(topic)?.[partition] ?? 0, end }
      }),
    )
    const unread = ranges.filter(({ from, end }) => from < end)
    if (unread.length > 0) this.all.push(...(await readCommitted(this.#brokers, unread)))
    this.ends = ends
  }

  async endsNow(): Promise<Map<string, Offsets>> {
    const ends = new Map<string, Offsets>()
    for (const topic of this.#topics) {
      const what = `the end offsets of ${topic}`
      ends.set(
        topic,
        await until(() => endOffsets(this.#brokers, topic), { what, timeoutMs: READ_TIMEOUT_MS }),
      )
    }
    return ends
  }
}
