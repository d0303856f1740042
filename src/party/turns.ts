import type { Contact } from '../core/party/contact.ts'
import type { Call } from './call.ts'
import type { Circuit } from './circuit.ts'
import type { Connections } from './connections.ts'
import type { Lane } from './lane.ts'
import type { NamingWatch } from './naming.ts'
import type { Trips } from './trips.ts'

export interface TurnNeeds {
  /** In the order of their turns. */
  readonly calls: Set<Call>
  readonly trips: Trips
  readonly circuit: Circuit
  readonly connections: Connections
  readonly naming: NamingWatch
  /** Requests that may share a connection. */
  readonly sharedCountMax: number
  /** Told the path of each party whose turn has come. */
  readonly noteRecent: (path: string) => void
}

/** Deals out the idle connections to the calls; while policy administration is down, answers them without. */
export function createTurns(needs: TurnNeeds) {
  const { calls, trips, circuit, connections, naming, sharedCountMax, noteRecent } = needs
  let isStarting = false

  function start(): void {
    isStarting = false
    if (circuit.isSuspect()) return
    const down = circuit.down()
    if (down !== null) for (const call of calls) settleAll(call, down)
    for (let call = nextCall(); call !== undefined; call = nextCall()) {
      startTrip(call)
      calls.delete(call)
      calls.add(call)
    }
  }

  function settleAll(call: Call, contact: Contact): void {
    for (const requests of [call.waiting, call.hanging]) {
      for (const { locator, path } of requests.splice(0).reverse()) {
        noteRecent(path)
        call.settle(locator, contact)
      }
    }
  }

  /** The one that has the fewest requests under way, so that one whose parties hang holds up no other. */
  function nextCall(): Call | undefined {
    if (trips.idleCount() === 0) return undefined
    let next: Call | undefined
    for (const call of calls) {
      if (next !== undefined && next.tripCount <= call.tripCount) continue
      if (call.waiting.length > 0 || (call.hanging.length > 0 && trips.isRoomApart())) next = call
    }
    return next
  }

  function startTrip(call: Call): void {
    const { waiting, hanging } = call
    const next = waiting.at(-1)
    const lane = next === undefined ? 'apart' : next.isAlone ? 'alone' : laneNow()
    const isShared = lane === 'streams' || lane === 'shared'
    // No more than need be for all to be on their way.
    const count = isShared ? Math.min(Math.ceil(waiting.length / trips.idleCount()), sharedCountMax) : 1
    const requests = (next === undefined ? hanging : waiting).splice(-count).reverse()
    for (const { path } of requests) noteRecent(path)
    trips.start(call, lane, requests)
  }

  /** How a request travels that need not be alone. */
  function laneNow(): Lane {
    if (connections.isHttp2()) return 'streams'
    return sharedCountMax > 1 && naming.isReliable() ? 'shared' : 'single'
  }

  return {
    start,
    /** Once all answers that came together are counted. */
    startSoon(): void {
      if (!isStarting) queueMicrotask(start)
      isStarting = true
    },
  }
}
