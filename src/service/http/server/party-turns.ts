import type { ServerResponse } from 'node:http'
import { ProblemError } from '../problems/problem.ts'

/** Maximum number of waiting requests, of one party and of all. Their bodies are in memory while they wait. */
const WAITING_OF_PARTY_MAX = 64
const WAITING_MAX = 256
/** Maximum time that a request waits. With the time that its handler may take, it is answered before its socket counts as idle. */
const WAIT_MAX_MS = 10_000

/** Admits the requests of a party one by one, in the order of arrival. A burst of one party delays no other party. */
export function createTurns(retryAfterS: number) {
  /** The first of each queue is in progress. */
  const queues = new Map<string, (() => void)[]>()
  let waitingCount = 0
  const refusal = new ProblemError('unavailable', {
    detail: 'Too many requests of this party are waiting. Try again later.',
    headers: { 'retry-after': String(retryAfterS) },
  })

  /**
   * Resolves when all earlier requests of the party have called `leave`. Throws if too many wait, if this one has waited for 10 s, or
   * if its client leaves meanwhile.
   */
  async function enter(
    party: string,
    response: Pick<ServerResponse, 'once' | 'off'>,
  ): Promise<{ readonly leave: () => void }> {
    const queue = queues.get(party) ?? []
    const isWaiting = queue.length > 0
    if (isWaiting && (queue.length > WAITING_OF_PARTY_MAX || waitingCount >= WAITING_MAX)) throw refusal
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    queues.set(party, queue)
    queue.push(resolve)
    if (isWaiting) await turn()
    return {
      leave: () => {
        queue.shift()
        if (queue.length === 0) queues.delete(party)
        queue[0]?.()
      },
    }

    async function turn(): Promise<void> {
      waitingCount++
      const giveUp = () => {
        const position = queue.indexOf(resolve)
        if (position <= 0) return
        queue.splice(position, 1)
        reject(refusal)
      }
      const timer = setTimeout(giveUp, WAIT_MAX_MS)
      response.once('close', giveUp)
      try {
        await promise
      } finally {
        clearTimeout(timer)
        response.off('close', giveUp)
        waitingCount--
      }
    }
  }
  return { enter }
}
