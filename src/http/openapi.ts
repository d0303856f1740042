import { STATUS_CODES } from 'node:http'
import swagger from '@fastify/swagger'
import type { RouteOptions } from 'fastify'
import { jsonSchemaTransform } from 'fastify-type-provider-zod'
import { z } from 'zod'
import packageJson from '../../package.json' with { type: 'json' }
import { PROBLEMS, type ProblemCode, problemBody } from './problems/problem.ts'
import type { App } from './server/base.ts'

const PROBLEM_REF = { $ref: '#/components/schemas/Problem' }

/**
 * Gathers the routes that are added to `app` after this into an OpenAPI 3.1 document: `app.swagger()` once it is ready.
 * What every route can answer (RFC 9457 problems of the base, of tokens, of bodies) is added to what it says itself.
 */
export function documentRoutes(app: App, { withTokens }: { withTokens: boolean }): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: packageJson.name,
        version: packageJson.version,
        description: packageJson.description,
      },
      servers: [{ url: 'http://localhost:{port}', variables: { port: { default: '4006' } } }],
      components: {
        schemas: { Problem: z.toJSONSchema(problemBody) as object },
        ...(withTokens
          ? { securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } }
          : {}),
      },
    },
    convertConstToEnum: false,
    transform: (given) => {
      const { schema, url } = jsonSchemaTransform(given)
      // The 405s of known paths have no schema.
      if (schema === undefined) return { schema: { hide: true }, url }
      const response = { ...(schema.response as Record<string, unknown>) }
      for (const [status, body] of Object.entries(response)) {
        response[status] = Number(status) < 400 ? success(status, body) : problem(status)
      }
      for (const code of problemsOf(given.route, withTokens)) {
        const status = String(PROBLEMS[code].status)
        response[status] ??= problem(status)
      }
      const security = withTokens && given.route.config?.access !== 'open' ? [{ token: [] }] : []
      return { schema: { ...schema, response, security }, url }
    },
  })
}

/** What a route can answer beside what it says itself. */
function problemsOf({ config, schema = {} }: RouteOptions, withTokens: boolean): ProblemCode[] {
  const access = withTokens ? (config?.access ?? 'admin') : 'open'
  return [
    ...(['invalid-request', 'request-timeout', 'headers-too-large', 'internal'] as const),
    ...(schema.body === undefined ? [] : (['body-too-large', 'unsupported-media-type'] as const)),
    ...(access === 'open' ? [] : (['unauthorized', 'unavailable'] as const)),
    ...(access === 'admin' || access === 'party' ? (['forbidden'] as const) : []),
  ]
}

function success(status: string, schema: unknown) {
  return { description: STATUS_CODES[status] ?? status, content: { 'application/json': { schema } } }
}

function problem(status: string) {
  const { title } =
    Object.values(PROBLEMS).find((each) => each.status === Number(status)) ?? PROBLEMS.internal
  return { description: title, content: { 'application/problem+json': { schema: PROBLEM_REF } } }
}
