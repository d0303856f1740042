import { z } from 'zod'
import { unavailable } from '../problems/error-handler.ts'
import { problemBody } from '../problems/problem.ts'
import type { HttpApp } from '../server/base.ts'

/** Resolves to null, or to a public reason with its remedy. */
export type Readiness = () => Promise<string | null>

/** `GET /healthz`: the process is alive. `GET /readyz`: the database answers, too. */
export function healthRoutes(app: HttpApp, readiness: Readiness): void {
  const tags = ['Health']
  const healthy = z.object({ status: z.literal('ok') }).meta({ examples: [{ status: 'ok' }] })
  const healthSchema = {
    tags,
    operationId: 'getHealth',
    summary: 'Liveness: the process responds',
    response: { 200: healthy },
  }
  app.get(
    '/healthz',
    { config: { access: 'open', returnsPersonalData: false }, schema: healthSchema },
    async () => ({
      status: 'ok' as const,
    }),
  )

  const ready = z.object({ status: z.literal('ready') }).meta({ examples: [{ status: 'ready' }] })
  const readySchema = {
    tags,
    operationId: 'getReadiness',
    summary: 'Readiness: the service can do its work',
    description: '503 gives the reason: the database does not respond, is not migrated, or takes no writes.',
    response: { 200: ready, 503: problemBody },
  }
  app.get(
    '/readyz',
    { config: { access: 'open', returnsPersonalData: false }, schema: readySchema },
    async () => {
      const reason = await readiness()
      if (reason !== null) throw unavailable(reason)
      return { status: 'ready' as const }
    },
  )
}
