import { ProblemError } from '../problems/problem.ts'
import type { App } from './base.ts'

const RETRY_AFTER_S = 1

/**
 * Answers requests beyond `countMax` under way with 503 and `Retry-After`: readers must not keep the process from its
 * messages. Routes that are open to anyone read nothing and always answer, so that probes do.
 */
export function limitRequests(app: App, countMax: number): void {
  let count = 0
  // One for all: in a flood, a stack for each would be a quarter of what the answer costs.
  const refusal = new ProblemError('unavailable', {
    detail: `More than ${countMax} requests are under way. Try again later.`,
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })
  app.addHook('onRequest', async ({ routeOptions }, reply) => {
    const { access = 'open' } = routeOptions.config
    if (access === 'open') return
    if (count >= countMax) throw refusal
    count++
    // Also where the client is gone before the answer.
    reply.raw.once('close', () => count--)
  })
}
