import { STATUS_CODES } from 'node:http'
import swagger from '@fastify/swagger'
import type { RouteOptions } from 'fastify'
import { createJsonSchemaTransform } from 'fastify-type-provider-zod'
import { z } from 'zod'
import packageJson from '../../../package.json' with { type: 'json' }
import {
  buildBody,
  codeOfStatus,
  type InputFault,
  PROBLEMS,
  type ProblemCode,
  problemBody,
} from './problems/problem.ts'
import type { HttpApp } from './server/base.ts'

const PROBLEM_REF = { $ref: '#/components/schemas/Problem' }

/** Zod omits defaults and examples of transformed texts. Those in `meta` belong to the text that a client sends. */
const toJsonSchema = createJsonSchemaTransform({
  zodToJsonConfig: {
    override: ({ zodSchema, jsonSchema }) => {
      const { default: byDefault, examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (byDefault !== undefined) jsonSchema.default = byDefault as never
      if (examples !== undefined) jsonSchema.examples = examples as never
    },
  },
})

/**
 * Documents the routes added to `app` from now on as OpenAPI 3.1: call `app.swagger()` once it is ready. Adds the responses that
 * every route can give (problems of RFC 9457 about tokens and bodies).
 */
export function documentRoutes(app: HttpApp, { withTokens }: { withTokens: boolean }): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: packageJson.name,
        version: packageJson.version,
        description: packageJson.description,
      },
      servers: [{ url: 'http://localhost:{port}', variables: { port: { default: '4006' } } }],
      tags: [
        { name: 'Log', description: 'The result of each event, with the reasons. An administrative view.' },
        { name: 'Preferences', description: "A party's preferred channel and opted-out event types." },
        { name: 'Health', description: 'For probes. No token is needed.' },
        { name: 'Placeholders', description: 'Routes that the specification reserves.' },
      ],
      components: {
        schemas: { Problem: z.toJSONSchema(problemBody) as object },
        ...(withTokens
          ? { securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } }
          : {}),
      },
    },
    convertConstToEnum: false,
    transformObject: (given) => {
      const document = ('openapiObject' in given ? given.openapiObject : given.swaggerObject) as Document
      const { paths, components } = document
      return { ...document, paths: nameSchemas(paths, components.schemas), components } as never
    },
    transform: (given) => {
      const { schema, url } = toJsonSchema(given)
      // The 405s of known paths have no schema.
      if (schema === undefined) return { schema: { hide: true }, url }
      const response = { ...(schema.response as Record<string, unknown>) }
      for (const [status, body] of Object.entries(response)) {
        response[status] = Number(status) < 400 ? success(status, body) : problem(status)
      }
      for (const code of listProblems(given.route, withTokens)) {
        const status = String(PROBLEMS[code].status)
        response[status] ??= problem(status)
      }
      const security = withTokens && given.route.config?.access !== 'open' ? [{ token: [] }] : []
      return { schema: { ...schema, response, security }, url }
    },
  })
}

interface Document {
  readonly paths: unknown
  readonly components: { readonly schemas: Record<string, unknown> }
}

/** Moves each schema with a title into `schemas`, under that name, so that generated clients have named types. */
function nameSchemas(node: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(node)) return node.map((item) => nameSchemas(item, schemas))
  if (typeof node !== 'object' || node === null) return node
  const { title, ...rest } = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === 'example' ? value : nameSchemas(value, schemas),
    ]),
  )
  if (typeof title !== 'string') return title === undefined ? rest : { ...rest, title }
  schemas[title] = rest
  return { $ref: `#/components/schemas/${title}` }
}

/** Responses that a route can give besides those it declares. */
function listProblems({ config, schema = {} }: RouteOptions, withTokens: boolean): ProblemCode[] {
  const access = config?.access
  const isOpen = access === 'open'
  return [
    ...(['invalid-request', 'request-timeout', 'headers-too-large', 'internal'] as const),
    ...(schema.body === undefined ? [] : (['body-too-large', 'unsupported-media-type'] as const)),
    // Too many requests in progress, or no database.
    ...(isOpen ? [] : (['unavailable'] as const)),
    ...(withTokens && !isOpen ? (['unauthorized'] as const) : []),
    ...(withTokens && !isOpen && access !== 'token' ? (['forbidden'] as const) : []),
  ]
}

/** Moves the example out of the schema, since not every tool looks inside. */
function success(status: string, schema: unknown) {
  const [example] = (schema as { examples?: readonly unknown[] }).examples ?? []
  return {
    description: STATUS_CODES[status] ?? status,
    content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
  }
}

function problem(status: string) {
  const code = codeOfStatus(Number(status)) ?? 'internal'
  const example = buildBody({ code, detail: undefined, errors: EXAMPLE_FAULTS[code] })
  return {
    description: PROBLEMS[code].title,
    content: { 'application/problem+json': { schema: PROBLEM_REF, example } },
  }
}

const EXAMPLE_FAULTS: { readonly [Code in ProblemCode]?: readonly InputFault[] } = {
  'invalid-request': [{ detail: 'must be a whole number from 1 to 200', parameter: 'limit' }],
}
