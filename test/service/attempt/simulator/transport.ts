import type { Delivery, Send } from '../../../../src/service/decide/attempt/delivery.ts'
import type { World } from './world.ts'

/** The error of a send that was put off, which costs no attempt. */
export const DEFERRED = 'EMAIL deferred: quota'

/** A transport that accepts each key once, and may answer at any time that it did not, or does not know. */
export function createSend(world: World, step: () => Promise<void>): Send {
  return async (messages) => {
    world.counts.sends += messages.length
    const deliveries = new Map(
      messages.map(({ locator, idempotencyKey }) => [locator, deliver(world, idempotencyKey)] as const),
    )
    if (messages.length > 0) await step()
    return deliveries
  }
}

function deliver({ random, counts, acceptedKeys, promise }: World, key: string): Delivery {
  const [eventId = ''] = key.split('/')
  if (random.chance(0.15)) {
    counts.deferred++
    return { receipt: null, error: DEFERRED, isDeferred: true }
  }
  const keys = acceptedKeys.get(eventId) ?? new Set()
  const isUnknown = random.chance(0.15)
  const isRefused = !keys.has(key) && random.chance(isUnknown ? 0.5 : 0.1)
  if (!isRefused) acceptedKeys.set(eventId, keys.add(key))
  promise(keys.size <= 1, `${eventId} is accepted under the keys ${[...keys]}`)
  if (isUnknown) counts.unknownOnes++
  if (isUnknown) return { receipt: null, error: 'it hung', isUnknown }
  return isRefused ? { receipt: null, error: 'mailbox full' } : { receipt: 'r', error: null }
}
