import { z } from 'zod'
import { unavailable } from '../problems/error-handler.ts'
import { problemBody } from '../problems/problem.ts'
import type { App } from '../server/base.ts'

/** Whether the service can do its work, and if not, why: a text for operators, visible to anyone. */
export type Readiness = { ready: true } | { ready: false; reason: string }

/** `GET /healthz`: the process is alive. `GET /readyz`: the database answers, too. */
export function healthRoutes(app: App, readiness: () => Promise<Readiness>): void {
  const healthy = { 200: z.object({ status: z.literal('ok') }) }
  app.get('/healthz', { config: { access: 'open' }, schema: { response: healthy } }, async () => ({
    status: 'ok' as const,
  }))

  const response = { 200: z.object({ status: z.literal('ready') }), 503: problemBody }
  app.get('/readyz', { config: { access: 'open' }, schema: { response } }, async () => {
    const state = await readiness().catch((cause: unknown) => {
      throw unavailable('The readiness check failed.', cause)
    })
    if (!state.ready) throw unavailable(state.reason)
    return { status: 'ready' as const }
  })
}
