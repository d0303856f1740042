import type { Call, PartyRequest } from './call.ts'
import type { Connections, SharedConnection } from './connections.ts'
import { Exchange, type ExchangeEnd } from './exchange.ts'
import { isAlone, type Lane } from './lane.ts'

/** Requests under way, and the connection whose place they take. */
export interface Trip {
  readonly call: Call
  readonly lane: Lane
  readonly connection: SharedConnection
  /** Those without an answer, in the order in which they were sent. */
  readonly open: Exchange[]
}

export interface TripNeeds {
  readonly connections: Connections
  readonly connectionCountMax: number
  /** Called once for each exchange that ends by itself. */
  readonly onEnd: (trip: Trip, exchange: Exchange, end: ExchangeEnd) => void
  readonly nowMs: () => number
}

export type Trips = ReturnType<typeof createTrips>

/** What is under way, and on which connection: as many trips at a time as there may be connections. */
export function createTrips({ connections, connectionCountMax, onEnd, nowMs }: TripNeeds) {
  const sharedConnections = Array.from({ length: connectionCountMax }, connections.shared)
  const idle = [...sharedConnections]
  const trips = new Set<Trip>()
  /** Connections that may wait for parties which take long, while others wait for their turn. */
  const lateCountMax = Math.max(1, Math.floor(connectionCountMax / 4))

  /** Takes an idle connection, of which there must be one. */
  function start(call: Call, lane: Lane, requests: readonly PartyRequest[]): void {
    // One of another kind takes its place: always the same, so that few are made anew.
    const connection = (isAlone(lane) ? idle.shift() : idle.pop()) as SharedConnection
    const trip: Trip = { call, lane, connection, open: [] }
    for (const request of requests) {
      trip.open.push(new Exchange(request, (exchange, end) => onEnd(trip, exchange, end)))
    }
    trips.add(trip)
    call.tripCount++
    if (lane === 'shared') connection.send(trip.open)
    else {
      if (isAlone(lane)) void connection.close()
      const way = isAlone(lane) ? connections.sendAlone : connections.send
      for (const exchange of [...trip.open]) way(exchange)
    }
  }

  /** After the last exchange its connection is idle. */
  function leave(trip: Trip, exchange: Exchange): void {
    const { call, open, lane, connection } = trip
    open.splice(open.indexOf(exchange), 1)
    if (lane === 'shared' && open[0] !== undefined) open[0].sinceMs = nowMs()
    if (open.length > 0) return
    trips.delete(trip)
    call.tripCount--
    if (isAlone(lane)) idle.unshift(connection)
    else idle.push(connection)
  }

  /** Who has no answer is asked for again. */
  function breakOff(trip: Trip): void {
    const { call, lane, connection } = trip
    for (const exchange of trip.open.toReversed()) {
      call.askAlone(exchange.request)
      leave(trip, exchange)
      if (lane === 'shared') exchange.ignore()
      else exchange.abandon()
    }
    if (lane === 'shared') void connection.close()
  }

  return {
    lateCountMax,
    idleCount: () => idle.length,
    /** Whether one more may go apart. */
    isRoomApart: () => [...trips].filter(({ lane }) => lane === 'apart').length < lateCountMax,
    /** Those under way now. */
    underWay: () => [...trips],
    start,
    leave,
    breakOff,
    /** Breaks off all of them. */
    async close(): Promise<void> {
      for (const trip of trips) breakOff(trip)
      await Promise.all(sharedConnections.map((connection) => connection.close()))
    },
  }
}
