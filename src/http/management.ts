import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { Logger } from 'pino'
import { type App, createBase } from './base.ts'

export type ApiDocument = ReturnType<App['swagger']>

/** Scripts and all else from here alone; Swagger UI sets styles and small pictures by itself. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'"

export interface ManagementDependencies {
  readonly log: Logger
  readonly document: ApiDocument
  /** All metrics as text, and the content type of that. */
  readonly exposeMetrics: () => Promise<{ contentType: string; text: string }>
}

/**
 * What operators see, on a listener of its own: metrics at `/metrics`, the API document at `/openapi.json`, readable at
 * `/docs`. None of it holds data of a person, so none of it asks for a token.
 */
export function buildManagement({ log, document, exposeMetrics }: ManagementDependencies): App {
  const app = createBase(log, () => false)
  app.get('/metrics', async (_, reply) => {
    const { contentType, text } = await exposeMetrics()
    return reply.type(contentType).send(text as never)
  })
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
