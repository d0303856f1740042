import { setTimeout as sleep } from 'node:timers/promises'
import type { World } from '../stack/world.ts'

/** Publishes a burst every `everyMs` until the signal. Resolves to the number of events. */
export async function publishBursts(
  world: Pick<World, 'publish'>,
  burst: () => Parameters<World['publish']>[0],
  everyMs: number,
  signal: AbortSignal,
): Promise<number> {
  const startedMs = performance.now()
  let eventCount = 0
  for (let burstCount = 1; !signal.aborted; burstCount++) {
    const events = burst()
    await world.publish(events)
    eventCount += events.length
    await sleep(Math.max(0, startedMs + burstCount * everyMs - performance.now()))
  }
  return eventCount
}
