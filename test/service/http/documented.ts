import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { buildApp, type PublicOptions } from '../../../src/service/http/public.ts'
import type { HttpApp } from '../../../src/service/http/server/base.ts'

/** An answer to one request. */
export interface Answer {
  readonly status: number
  readonly contentType: string | undefined
  /** As it was received. */
  readonly body: string
}

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no static type
export type ApiDocument = any

/** Answers outside the document: unknown paths, unknown methods, unreadable requests. */
const UNDOCUMENTED_STATUSES = { path: [400, 404, 405, 431], method: [400, 405, 431] }
const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }

/**
 * Checks answers against an OpenAPI document: returns the first deviation, or null. `path` is a path of
 * the document, or any other.
 */
export function createDocumentCheck(document: ApiDocument) {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  const validators = new Map<unknown, ValidateFunction>()

  function contentOf(method: string, path: string, status: number) {
    const operations = document.paths[path]
    const operation = operations?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
    if (operation !== undefined) return operation.responses[status]?.content
    return UNDOCUMENTED_STATUSES[operations === undefined ? 'path' : 'method'].includes(status)
      ? PROBLEM
      : undefined
  }

  return (method: string, path: string, { status, contentType = '', body }: Answer): string | null => {
    const at = `${method} ${path} ${status}`
    const content = contentOf(method, path, status)
    if (content === undefined) return `${at}: this status is not documented`
    const type = contentType.split(';')[0] ?? ''
    if (content[type] === undefined) return `${at}: the content type ${contentType} is not documented`
    if (method === 'HEAD') return body === '' ? null : `${at}: there is a body`
    const { schema } = content[type]
    // A reference inside leads to the document's components.
    const validate = validators.get(schema) ?? ajv.compile({ ...schema, components: document.components })
    validators.set(schema, validate)
    return validate(parsed(body)) ? null : `${at}: ${ajv.errorsText(validate.errors)}`
  }
}

/** Undefined, which no schema allows, if the text is not JSON. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** An app like that of `buildApp` that checks each answer against its document and replaces undocumented ones by a 500. */
export function documentedApp(dependencies: PublicOptions): HttpApp {
  const app = buildApp(dependencies)
  let check: ReturnType<typeof createDocumentCheck> | null = null
  app.addHook('onSend', async (request, reply, payload) => {
    check ??= createDocumentCheck(JSON.parse(JSON.stringify(app.swagger())))
    const path = (request.routeOptions.url ?? request.url).replaceAll(/:(\w+)/g, '{$1}')
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const contentType = reply.getHeader('content-type')?.toString()
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return
    const body = payload.toString()
    const fault = check(method, path, { status: reply.statusCode, contentType, body })
    if (fault === null || reply.statusCode === 500) return
    console.error(fault)
    throw new Error(fault)
  })
  return app
}
