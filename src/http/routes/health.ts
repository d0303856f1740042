import { z } from 'zod'
import { unavailable } from '../problems/error-handler.ts'
import { problemBody } from '../problems/problem.ts'
import type { App } from '../server/base.ts'

/** Whether the service can do its work, and if not, why: text for operators, shown to anyone who asks. */
export type Readiness = { ready: true } | { ready: false; reason: string }

/** `GET /healthz`: the process answers. `GET /readyz`: the database does, too. */
export function healthRoutes(app: App, readiness: () => Promise<Readiness>): void {
  const healthy = { 200: z.object({ status: z.literal('ok') }) }
  app.get('/healthz', { config: { access: 'open' }, schema: { response: healthy } }, async () => ({
    status: 'ok' as const,
  }))

  const response = { 200: z.object({ status: z.literal('ready') }), 503: problemBody }
  app.get('/readyz', { config: { access: 'open' }, schema: { response } }, async () => {
    const state = await readiness().catch((cause: unknown) => {
      throw unavailable('The check of readiness failed.', cause)
    })
    if (!state.ready) throw unavailable(state.reason)
    return { status: 'ready' as const }
  })
}
