import { isIP } from 'node:net'
import compress from '@fastify/compress'
import { share } from '../time/share.ts'
import { requireAccess } from './auth/rights.ts'
import { unavailable } from './problems/error-handler.ts'
import { ProblemError } from './problems/problem.ts'
import type { Readiness } from './routes/health-routes.ts'
import { type BaseOptions, createBase, type HttpApp } from './server/base.ts'
import { limitRequests } from './server/limit-requests.ts'

export type ApiDocument = ReturnType<HttpApp['swagger']>

export interface ManagementOptions extends BaseOptions {
  /** Maximum number of requests in progress behind a token. */
  readonly requestCountMax: number
  /** Names of this listener, besides `localhost` and addresses. */
  readonly hosts: readonly string[]
  readonly document: ApiDocument
  readonly startup: Readiness
  /** A fault that is reported without failing the probe, which would end the process. */
  readonly startupWarning: () => string | null
  readonly exposeMetrics: () => Promise<{ contentType: string; text: string }>
  /** Adds the administrators' page; null without one. */
  readonly console: ((app: HttpApp) => void) | null
}

const config = { access: 'open', returnsPersonalData: false } as const
const COMPRESSED_BYTES_MIN = 1_024
/** Requests in a burst share one reading, which takes milliseconds even for clients that have left. */
const METRICS_SHARED = { validMs: 0, deadlineMs: 10_000 }

/**
 * The operators' listener: metrics at `/metrics`, the startup probe at `/startupz`, the API document at `/openapi.json`, the
 * console at `/console`. Only the console's data is personal and needs a token.
 */
export function buildManagement(options: ManagementOptions): HttpApp {
  const { document, startup, startupWarning } = options
  const exposeMetrics = share(options.exposeMetrics, METRICS_SHARED, () => performance.now())
  const described = JSON.stringify(document)
  const app = createBase(options)
  app.addHook('onRoute', requireAccess)
  requireHost(app, options.hosts)
  limitRequests(app, options.requestCountMax)
  app.register(compress, { encodings: ['gzip'], threshold: COMPRESSED_BYTES_MIN })
  // Routes of the app itself would be added before the plugin, which would not see them.
  app.register(async (open: HttpApp) => {
    open.get('/metrics', { config }, async (_, reply) => {
      const { contentType, text } = await exposeMetrics()
      return reply.type(contentType).send(text as never)
    })
    open.get('/startupz', { config }, async () => {
      const reason = await startup()
      if (reason !== null) throw unavailable(reason)
      const warning = startupWarning()
      return { status: 'started', ...(warning !== null && { warning }) } as never
    })
    open.get('/openapi.json', { config }, async (_, reply) =>
      reply.type('application/json').send(described as never),
    )
  })
  options.console?.(app)
  return app
}

/**
 * Refuses requests whose `Host` is a name other than these and `localhost`. With DNS rebinding, an attacker's page points its own
 * name at this listener, and reads it through the browser of someone with access. A page cannot send an address as `Host` unless
 * it came from there; probes and Prometheus use addresses.
 */
function requireHost(app: HttpApp, names: readonly string[]): void {
  const allowed = new Set(['localhost', ...names.map((name) => name.toLowerCase())])
  app.addHook('onRequest', async ({ headers: { host } }) => {
    // HTTP/1.0 has no `Host`, and no browser speaks it.
    if (host === undefined) return
    const name = host.replace(/:\d*$/, '').toLowerCase().replace(/\.$/, '')
    const address = /^\[(.*)\]$/.exec(name)?.[1] ?? name
    if (isIP(address) !== 0 || allowed.has(name)) return
    throw new ProblemError('misdirected', {
      detail:
        'This listener does not answer to that host name. To allow the name, add it to MANAGEMENT_ALLOWED_HOSTS.',
    })
  })
}
