import { judgeSilence } from './answer.ts'
import type { Answers } from './answers.ts'
import type { Call } from './call.ts'
import type { Circuit } from './circuit.ts'
import type { Connections } from './connections.ts'
import type { Exchange } from './exchange.ts'
import type { Hanging } from './hanging.ts'
import type { Trip, Trips } from './trips.ts'

export interface SweepNeeds {
  readonly calls: ReadonlySet<Call>
  readonly trips: Trips
  readonly connections: Connections
  readonly answers: Answers
  readonly hanging: Hanging
  readonly circuit: Circuit
  readonly deadlineMs: number
  readonly nowMs: () => number
}

/** A request whose answer is the next to come on its connection. */
interface Wait {
  readonly trip: Trip
  readonly exchange: Exchange
}

/** Returns what looks after all that takes long, to be called some fifty times within a deadline. */
export function createSweep(needs: SweepNeeds) {
  const { calls, trips, connections, answers, hanging, circuit, deadlineMs, nowMs } = needs

  function sweep(): void {
    const atMs = nowMs()
    const patienceMs = Math.min(Math.max(deadlineMs / 20, 2 * answers.slowestMs()), deadlineMs)
    const late: Wait[] = []
    let isSilent = false
    for (const wait of waitsOf(trips.underWay())) {
      const { trip, exchange } = wait
      // Giving one up can end others at once, over HTTP/2.
      if (!trip.open.includes(exchange)) continue
      const waitedMs = atMs - exchange.sinceMs
      const waitMaxMs = trip.lane === 'apart' ? deadlineMs / 5 : deadlineMs
      if (waitedMs >= waitMaxMs) {
        isSilent ||= answers.isSilentSince(exchange.sinceMs)
        giveUp(wait, waitMaxMs)
      } else if (waitedMs >= patienceMs && trip.lane !== 'apart') {
        circuit.note(exchange.request.locator, judgeSilence(waitedMs))
        if (trip.lane === 'shared') trips.breakOff(trip)
        else late.push(wait)
      }
    }
    // Over HTTP/2 giving up closes a stream only, and a connection that went dead would be kept.
    if (isSilent && connections.isHttp2()) connections.renew()
    if ([...calls].some(({ waiting }) => waiting.length > 0))
      giveWay(late.slice(0, -trips.lateCountMax), patienceMs)
    for (const call of calls) if (atMs >= call.askUntilMs) call.endAsking()
  }

  /** Unless it may be a pause of all: once others are answered who were asked for later, it is not. */
  function giveWay(late: readonly Wait[], patienceMs: number): void {
    for (const wait of late) {
      const { trip, exchange } = wait
      if (trip.open.includes(exchange) && !answers.isSilentSince(exchange.sinceMs)) giveUp(wait, patienceMs)
    }
  }

  function giveUp({ trip, exchange }: Wait, waitMaxMs: number): void {
    const { locator } = exchange.request
    const silence = judgeSilence(waitMaxMs)
    if (waitMaxMs === deadlineMs) hanging.remember(locator)
    if (trip.lane !== 'apart') circuit.note(locator, silence)
    exchange.abandon()
    trips.leave(trip, exchange)
    trip.call.settle(locator, silence.contact)
  }

  return sweep
}

/** On a shared connection the others wait for the first. */
function waitsOf(trips: readonly Trip[]): Wait[] {
  return trips.flatMap((trip) => {
    const next = trip.lane === 'shared' ? trip.open.slice(0, 1) : trip.open
    return next.map((exchange) => ({ trip, exchange }))
  })
}
