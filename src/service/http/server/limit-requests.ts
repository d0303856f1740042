import type { ServerResponse } from 'node:http'
import type { FastifyReply, RouteHandlerMethod } from 'fastify'
import { type Access, partyInPath } from '../auth/rights.ts'
import { readSubject } from '../auth/tokens.ts'
import { ProblemError } from '../problems/problem.ts'
import type { HttpApp } from './base.ts'
import { createTurns } from './party-turns.ts'

type LimitedAccess = Exclude<Access, 'open'>

const RETRY_AFTER_S = 1
/** Maximum number of bodies arriving on a listener at once. They are in memory while they arrive, each up to the body limit. */
const BODY_COUNT_MAX = 256

/**
 * Answers requests beyond `countMax` in progress with 503 and `Retry-After`, so that readers cannot starve message processing. Each
 * access has its own count, so that a party can opt out however many lists are requested; open routes always answer, for probes.
 * Requests of one party take turns, and take no place while they wait. Place and turn last until the handler ends, even if the
 * client has left or was answered after a timeout. A handler does not start once its client has left. Beyond BODY_COUNT_MAX
 * arriving bodies, the oldest one of the subject with the most gets 408.
 */
export function limitRequests(app: HttpApp, countMax: number): void {
  const inProgress: Record<LimitedAccess, number> = { token: 0, party: 0, admin: 0, operator: 0 }
  const turns = createTurns(RETRY_AFTER_S)
  // Values are token subjects. A Map keeps the order of insertion, so the first entry is the oldest.
  const arriving = new Map<FastifyReply, string | null>()
  const refusal = new ProblemError('unavailable', {
    detail: `More than ${countMax} requests of this kind are in progress. Try again later.`,
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })
  const tooSlow = new ProblemError('request-timeout', { headers: { connection: 'close' } })

  app.addHook('preParsing', async (request, reply) => {
    if (request.raw.complete) return
    const slowest = arriving.size < BODY_COUNT_MAX ? undefined : slowestOfBusiest(arriving)
    if (slowest !== undefined) {
      arriving.delete(slowest)
      slowest.send(tooSlow)
    }
    arriving.set(reply, readSubject(request))
    reply.raw.once('close', () => arriving.delete(reply))
  })

  // Taken only now, with an accepted token and a complete body, so that slow clients take no place.
  app.addHook('preHandler', async (_, reply) => {
    arriving.delete(reply)
  })
  app.addHook('onRoute', (route) => {
    const { handler } = route
    const access = route.config?.access ?? 'open'
    if (access !== 'open') route.handler = limited(access, handler)
  })

  function limited(access: LimitedAccess, handler: RouteHandlerMethod): RouteHandlerMethod {
    return async function handleInTurn(request, reply) {
      const party = access === 'party' ? partyInPath(request) : undefined
      const turn = party === undefined ? undefined : await turns.enter(party, reply.raw)
      try {
        if (request.raw.socket.destroyed) return void reply.hijack()
        if (inProgress[access] >= countMax) throw refusal
        inProgress[access]++
        try {
          return await handler.call(this, request, reply)
        } finally {
          leave(access, reply.raw)
        }
      } finally {
        turn?.leave()
      }
    }
  }

  function leave(access: LimitedAccess, raw: ServerResponse): void {
    // An administrator's lists are large, and stay in memory until the client has read them or is gone.
    if (access === 'admin' && !raw.closed) raw.once('close', () => inProgress[access]--)
    else inProgress[access]--
  }
}

/** The oldest unfinished body of the subject with the most unfinished bodies. */
function slowestOfBusiest(arriving: ReadonlyMap<FastifyReply, string | null>): FastifyReply | undefined {
  const bySubject = Map.groupBy(arriving, ([, subject]) => subject)
  const [busiest = []] = [...bySubject.values()].sort((a, b) => b.length - a.length)
  return busiest[0]?.[0]
}
