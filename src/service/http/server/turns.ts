import type { FastifyReply } from 'fastify'
import { ProblemError } from '../problems/problem.ts'

/** Maximum number of requests of a party that wait, and of all parties. Their bodies are in memory while they wait. */
const WAITING_OF_PARTY_MAX = 64
const WAITING_MAX = 256
/** Maximum time that a request waits. With the time that its handler may take, it is answered before its socket counts as idle. */
const WAIT_MAX_MS = 10_000

/** Lets the requests of a party in one by one, in the order of their arrival: a burst of one holds up no other. */
export function createTurns(retryAfterS: number) {
  /** The first of each queue is in progress. */
  const queues = new Map<string, (() => void)[]>()
  const leaving = new WeakMap<FastifyReply, () => void>()
  let waitingCount = 0
  const refusal = new ProblemError('unavailable', {
    detail: 'Too many requests of this party are waiting. Try again later.',
    headers: { 'retry-after': String(retryAfterS) },
  })

  return {
    /**
     * Resolves when all earlier requests of the party have left; never, if this one leaves before. Throws if too many wait, or this
     * one has waited for 10 s.
     */
    wait: async (party: string, reply: FastifyReply): Promise<void> => {
      const queue = queues.get(party) ?? []
      const isWaiting = queue.length > 0
      if (isWaiting && (queue.length > WAITING_OF_PARTY_MAX || waitingCount >= WAITING_MAX)) throw refusal
      const { promise, resolve: enter, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(() => reject(refusal), WAIT_MAX_MS)
      queues.set(party, queue)
      queue.push(enter)
      if (isWaiting) waitingCount++
      leaving.set(reply, () => {
        clearTimeout(timer)
        const position = queue.indexOf(enter)
        queue.splice(position, 1)
        if (queue.length > 0) waitingCount--
        else queues.delete(party)
        if (position === 0) queue[0]?.()
      })
      if (isWaiting) await promise
      clearTimeout(timer)
    },
    leave: (reply: FastifyReply): void => {
      leaving.get(reply)?.()
      leaving.delete(reply)
    },
  }
}
