import type { Logger } from 'pino'
import type { Answer } from './answer.ts'
import type { Circuit } from './circuit.ts'
import type { Connections } from './connections.ts'
import type { Exchange } from './exchange.ts'
import type { Hanging } from './hanging.ts'
import { isAlone, type Lane } from './lane.ts'
import type { NamingWatch } from './naming.ts'
import type { Trip, Trips } from './trips.ts'

export interface CountNeeds {
  readonly trips: Trips
  readonly connections: Connections
  readonly hanging: Hanging
  readonly naming: NamingWatch
  readonly circuit: Circuit
  readonly log: Logger
}

/** Takes the answer for the party's own and settles it, or asks for the party again, alone. */
export function createCountAnswer({ trips, connections, hanging, naming, circuit, log }: CountNeeds) {
  /** Whatever else comes over its connection may be for another party, too. */
  function closeConnection(trip: Trip): void {
    log.warn('policy administration answered for another party; the connection is closed')
    if (trip.lane === 'shared') trips.breakOff(trip)
    else connections.renew()
  }

  return (trip: Trip, exchange: Exchange, answer: Answer): void => {
    const { call, lane } = trip
    const { locator } = exchange.request
    trips.leave(trip, exchange)
    if (answer.names === 'another') closeConnection(trip)
    // A stream that was sent when the server went back to HTTP/1.1 is a request among others.
    const travelled = lane === 'streams' && !connections.isHttp2() ? 'shared' : lane
    if (counts(travelled, answer)) {
      hanging.forget(locator)
      naming.note(answer)
      circuit.note(locator, answer)
      call.settle(locator, answer.contact)
    } else {
      // If it is an answer too many, the party's own comes next on that connection, and none that names it is to be lost.
      if (lane === 'single' && !answer.isLost && naming.state() === 'named') connections.renew()
      call.askAlone(exchange.request)
    }
  }
}

/**
 * Whether an answer is this party's. One that names nobody may be that of an earlier request wherever its connection had
 * one: there a 404, which would silence a member for good, never counts, and among several requests nothing does.
 */
function counts(lane: Lane, { names, contact, isLost }: Answer): boolean {
  if (isAlone(lane)) return true
  if (isLost) return false
  if (lane === 'streams' || names !== 'nobody') return true
  return lane === 'single' && contact.state !== 'not found'
}
