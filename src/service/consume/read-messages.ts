import { type Message, messageBytes } from '../decide/event/message.ts'
import { type Place, partitionKey, placeKey } from '../decide/event/position.ts'
import { BLOCK_REASONS } from '../model/block-reasons.ts'
import type { Brokers } from './brokers.ts'
import { READ_COMMITTED } from './fetch-request.ts'
import { afterDamage } from './records/batches.ts'
import { findRecordSet, readRecordSet } from './records/record-set.ts'
import { UnreadableBatch } from './records/unreadable.ts'

const FETCH_BYTES = 1024 * 1024
const READ_BYTES_MAX = 8 * 1024 * 1024
const READ_MAX_MS = 5_000

/**
 * Reads committed messages beside the consumers, by `placeKey`: null if the broker has none there, or one that cannot be read. Stops
 * after 8 MB or 5 s, but not before the first: places that it did not reach are missing, as are those of partitions that no broker
 * serves now. Rejects if the first is one of these.
 */
export async function readMessages(
  brokers: Pick<Brokers, 'readEnds' | 'unservedReason' | 'fetch'>,
  places: readonly Place[],
): Promise<ReadonlyMap<string, Message | null>> {
  const found = new Map<string, Message | null>()
  const [first, ...others] = places
  if (first === undefined) return found
  const topics = [...new Set(places.map(({ topic }) => topic))]
  let ends = await brokers.readEnds(topics, READ_COMMITTED)
  // Without ends a partition is gone, has no leader, or has had one only since they were asked for.
  if (places.some((place) => !ends.has(partitionKey(place))))
    ends = await brokers.readEnds(topics, READ_COMMITTED)
  const unserved = brokers.unservedReason(first)
  if (unserved !== null)
    throw new Error(`${partitionKey(first)} cannot be read: ${BLOCK_REASONS[unserved.reason].remedy}`)
  const startedMs = performance.now()
  let byteCount = 0
  // The first is read in any case. The others in ascending order, so that one fetch serves several.
  for (const place of [first, ...others.sort((a, b) => Number(a.offset - b.offset))]) {
    if (brokers.unservedReason(place) !== null) continue
    const { earliest = 0n, end = 0n } = ends.get(partitionKey(place)) ?? {}
    if (place.offset < earliest || place.offset >= end) found.set(placeKey(place), null)
    if (found.has(placeKey(place))) continue
    if (found.size > 0 && (byteCount > READ_BYTES_MAX || performance.now() - startedMs > READ_MAX_MS)) break
    const { last, messages } = await readFrom(brokers, place)
    for (const wanted of places) {
      const isRead = wanted.offset >= place.offset && wanted.offset <= last
      if (!isRead || partitionKey(wanted) !== partitionKey(place)) continue
      const message = messages.find(({ offset }) => offset === wanted.offset) ?? null
      found.set(placeKey(wanted), message)
      byteCount += message === null ? 0 : messageBytes(message)
    }
  }
  return found
}

/** The messages of one fetch, and the last offset that it covers. */
async function readFrom(brokers: Pick<Brokers, 'fetch'>, place: Place) {
  const { topic, partition, offset: from } = place
  const fetched = await brokers.fetch({ topic, partition, from, bytesMax: FETCH_BYTES }, READ_COMMITTED)
  const messages: Message[] = []
  if (fetched.error === 'OFFSET_OUT_OF_RANGE') return { last: from, messages }
  if (fetched.error !== null)
    throw new Error(`the broker does not serve ${placeKey(place)}: ${fetched.error}`)
  const set = findRecordSet(afterDamage(fetched.bytes, from), from, fetched.aborted)
  if (set === null) return { last: from, messages }
  try {
    for await (const batch of readRecordSet(set)) messages.push(...batch)
    return { last: set.lastOffset, messages }
  } catch (error) {
    if (!(error instanceof UnreadableBatch)) throw error
    return { last: messages.at(-1)?.offset ?? from, messages }
  }
}
