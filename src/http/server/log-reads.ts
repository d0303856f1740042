import { subjectOf } from '../auth/tokens.ts'
import type { App } from './base.ts'

const PAGING: readonly string[] = ['limit', 'cursor']

/**
 * Logs every read behind a token at level info: the token's subject, the route's pattern, the names of the filters and
 * the number of rows returned. Never a value: those identify people. Refused requests read nothing.
 */
export function logReads(app: App): void {
  app.addHook('preSerialization', async (request, reply, payload) => {
    const { url: route, config } = request.routeOptions
    const isRead = ['GET', 'HEAD'].includes(request.method) && [200, 404].includes(reply.statusCode)
    if (request.is404 || config.access === 'open' || !isRead) return payload
    const filters = Object.keys(request.query as object).filter((name) => !PAGING.includes(name))
    const rowCount = reply.statusCode === 404 ? 0 : rowCountOf(payload)
    // Not `subject`: the log redacts that key, a message's subject.
    request.log.info({ tokenSubject: subjectOf(request), route, filters, rowCount }, 'read')
    return payload
  })
}

function rowCountOf(payload: unknown): number {
  const { items } = payload as { items?: readonly unknown[] }
  if (items !== undefined) return items.length
  return Object.keys(payload as object).length === 0 ? 0 : 1
}
