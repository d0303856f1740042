import type { Head } from '../core/batch/head.ts'
import type { TopicPartition } from '../core/batch/topic-partition.ts'

/** A partition, and the first of its messages that is not processed. */
export interface Waiting extends TopicPartition {
  /** `topic/partition` */
  readonly key: string
  readonly next: bigint
}

export interface MessageAgesNeeds {
  /** Null where none is known: the partition is not ours, or not fetched that far. */
  readonly headOf: (topic: string, partition: number) => Head | null
  /** By `topic/partition`, the first offset of a message that is not older than this; none where there is no such message. */
  readonly firstSince: (
    wanted: readonly (TopicPartition & { readonly timestampMs: number })[],
  ) => Promise<ReadonlyMap<string, bigint>>
  readonly nowMs: () => number
}

const AGE_MIN_S = 1
/** Each candidate for an age is this much more than the one before it; the last one is some four years. */
const AGE_STEP = 1.1
const AGE_COUNT = 196

/**
 * Tells since when messages wait, in milliseconds, by `topic/partition`. What is fetched has its time. Of anything else the
 * brokers are asked by bisection, to a second and a tenth, all partitions at once, and only once of each message.
 */
export function createMessageAges(needs: MessageAgesNeeds) {
  const found = new Map<string, { readonly next: bigint; readonly sinceMs: number }>()

  return async (waiting: readonly Waiting[]): Promise<ReadonlyMap<string, number>> => {
    const unknown: Waiting[] = []
    const sinceMs = new Map<string, number>()
    for (const asked of waiting) {
      const { key, topic, partition, next } = asked
      const head = needs.headOf(topic, partition)
      const known = found.get(key)
      if (head !== null && head.offset >= next) sinceMs.set(key, Number(head.timestampMs))
      else if (known?.next === next) sinceMs.set(key, known.sinceMs)
      else unknown.push(asked)
    }
    for (const { key, next, ageS } of await search(needs, unknown)) {
      sinceMs.set(key, needs.nowMs() - ageS * 1_000)
      found.set(key, { next, sinceMs: needs.nowMs() - ageS * 1_000 })
    }
    return sinceMs
  }
}

/** For each the least candidate such that a message of this age or younger is at this offset or before it. */
async function search({ firstSince, nowMs }: MessageAgesNeeds, waiting: readonly Waiting[]) {
  const startMs = nowMs()
  const ranges = waiting.map((asked) => ({ ...asked, low: 0, high: AGE_COUNT - 1 }))
  for (;;) {
    const open = ranges.filter(({ low, high }) => low < high)
    if (open.length === 0) return ranges.map(({ key, next, low }) => ({ key, next, ageS: ageS(low) }))
    const first = await firstSince(
      open.map(({ topic, partition, low, high }) => {
        const timestampMs = Math.floor(startMs - ageS((low + high) >> 1) * 1_000)
        return { topic, partition, timestampMs }
      }),
    )
    for (const range of open) {
      const middle = (range.low + range.high) >> 1
      const offset = first.get(range.key)
      if (offset !== undefined && offset <= range.next) range.high = middle
      else range.low = middle + 1
    }
  }
}

function ageS(candidate: number): number {
  return AGE_MIN_S * AGE_STEP ** candidate
}
