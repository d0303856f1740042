import type { Access } from '../auth/access.ts'
import { ProblemError } from '../problems/problem.ts'
import type { App } from './base.ts'

const RETRY_AFTER_S = 1

/**
 * Answers requests beyond `countMax` under way with 503 and `Retry-After`: readers must not keep the process from its
 * messages. Each access has its own count: however many lists are asked for, a party can opt out. Routes that are open to
 * anyone read nothing and always answer, so that probes do.
 */
export function limitRequests(app: App, countMax: number): void {
  const underWay: Record<Exclude<Access, 'open'>, number> = { token: 0, party: 0, admin: 0 }
  // One for all: in a flood, a stack for each would be a quarter of what the answer costs.
  const refusal = new ProblemError('unavailable', {
    detail: `More than ${countMax} requests of this kind are under way. Try again later.`,
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })
  app.addHook('onRequest', async ({ routeOptions }, reply) => {
    const { access = 'open' } = routeOptions.config
    if (access === 'open') return
    if (underWay[access] >= countMax) throw refusal
    underWay[access]++
    // Also where the client is gone before the answer.
    reply.raw.once('close', () => underWay[access]--)
  })
}
