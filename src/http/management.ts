import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { Logger } from 'pino'
import { type App, createBase } from './base.ts'

export type ApiDocument = ReturnType<App['swagger']>

/** Scripts and all else from here alone; Swagger UI sets styles and small pictures by itself. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'"

/** What operators see, on a listener of its own: the API document at `/openapi.json`, readable at `/docs`. */
export function buildManagement(document: ApiDocument, log: Logger): App {
  const app = createBase(log, () => false)
  app.get('/openapi.json', async () => document as never)
  app.register(swagger, { mode: 'static', specification: { document: document as never } })
  app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    // Requests from that page to the other port would be refused by any browser.
    uiConfig: { supportedSubmitMethods: [] },
  })
  return app
}
