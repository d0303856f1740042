import type { FastifyRequest } from 'fastify'
import { readSubject } from '../auth/tokens.ts'
import type { HttpApp } from './base.ts'

const PAGING: readonly string[] = ['limit', 'cursor']

/**
 * Logs every answer with members' data at level info, as an audit trail: the token's subject, the route's pattern, the party or the
 * filters, and the number of rows returned. Refused requests read nothing.
 */
export function logReads(app: HttpApp): void {
  app.addHook('preSerialization', async (request, reply, payload) => {
    const { config } = request.routeOptions
    if (config.returnsPersonalData !== true || ![200, 404].includes(reply.statusCode)) return payload
    const rowCount = reply.statusCode === 404 ? 0 : countRows(payload)
    // A preview has the filters in its body.
    logRead(request, request.body ?? request.query, rowCount, payload as Named)
    return payload
  })
}

/** Logs an answer with members' data that `logReads` does not see. */
export function logRead(
  request: FastifyRequest,
  asked: unknown,
  rowCount: number,
  payload: Named = {},
): void {
  const filters = Object.fromEntries(
    Object.entries(asked as object).filter(([name]) => !PAGING.includes(name)),
  )
  const { locator, partyLocator = (request.params as Named).partyLocator } = payload
  const { url: route } = request.routeOptions
  // Not `subject`: the log redacts that key, a message's subject.
  const tokenSubject = readSubject(request)
  request.log.info({ tokenSubject, route, locator, partyLocator, filters, rowCount }, 'read')
}

/** A log entry, or the parameters of a path. */
interface Named {
  readonly locator?: string
  readonly partyLocator?: string | null
}

function countRows(payload: unknown): number {
  const { items, count } = payload as { items?: readonly unknown[]; count?: number }
  if (items !== undefined) return items.length
  if (count !== undefined) return count
  return Object.keys(payload as object).length === 0 ? 0 : 1
}
