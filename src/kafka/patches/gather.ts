import { setTimeout as sleep } from 'node:timers/promises'
import type { Batch } from 'kafkajs'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import { readFetchedBytes } from './fetch-response.ts'

/** Maximum time that an event waits at the broker for others. No member notices it, and a transaction costs as much as many events. */
const GATHER_MS = 25
/** A fetch that brings more is worth a transaction. At 5,000 events/s, waiting for still more made the 99th percentile longer. */
const LITTLE_BYTES = 16 * 1024

/** Time of the last fetch that brought little, of each broker, by its id. */
const lastLittleFetchMs = new WeakMap<ConsumerGroup, Map<string, number>>()

/**
 * Patches `consumer/consumerGroup.js` of kafkajs 2.2.4: a fetch that brings little, within 25 ms of another such one of the same
 * broker, is repeated after 25 ms. What it brought is dropped, since the repeated one brings it again, with all that has gathered
 * meanwhile. Apply it after `patchFetchResponses`, which sets the method anew.
 */
export function patchGathering(): void {
  const originalFetch = ConsumerGroup.prototype.fetch
  ConsumerGroup.prototype.fetch = async function fetchGathered(nodeId) {
    const last = lastLittleFetchMs.get(this) ?? new Map<string, number>()
    lastLittleFetchMs.set(this, last)
    let batches = await originalFetch.call(this, nodeId)
    if (bringsLittle(batches) && performance.now() - (last.get(nodeId) ?? 0) < GATHER_MS) {
      await sleep(GATHER_MS)
      batches = await originalFetch.call(this, nodeId)
    }
    if (bringsLittle(batches)) last.set(nodeId, performance.now())
    return batches
  }
}

function bringsLittle(batches: readonly Batch[]): boolean {
  const bytes = batches.reduce((sum, batch) => sum + (readFetchedBytes(batch)?.bytes.length ?? 0), 0)
  return bytes > 0 && bytes < LITTLE_BYTES
}
