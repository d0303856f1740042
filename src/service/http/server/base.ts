import type { IncomingMessage } from 'node:http'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  fastify,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
  type RouteHandlerMethod,
} from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Logger } from 'pino'
import { isPercentEncoded } from '../../text/sanitize.ts'
import { answerClientError, noteAnswered } from '../problems/client-error.ts'
import { errorHandler, routerErrorHandler } from '../problems/error-handler.ts'
import { ProblemError } from '../problems/problem.ts'
import { BOUNDED_PIPELINE, closeOnceAnswered } from './pipelining.ts'

export type HttpApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

export interface BaseOptions {
  readonly log: Logger
  /** True if an error of a route's dependencies is an outage (503), false if it is a bug (500). */
  readonly isUnavailable: (error: unknown) => boolean
  /** Called for each response. The route is its pattern, or `none` if no route matched. */
  readonly observeResponse: (route: string, method: string, status: number, seconds: number) => void
}

const HEADER_BYTES_MAX = 16 * 1024
/** Node's own limit, well above ours, so that authentication can answer a token that is too long. */
const RAW_HEADER_BYTES_MAX = 128 * 1024
const BODY_BYTES_MAX = 64 * 1024
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 15_000
/** Interval at which Node checks these two timeouts. Its default of 30 s is longer than both. */
const TIMEOUT_CHECK_MS = 2_000
/** Slightly longer than the 60 s of common load balancers, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
const SOCKET_IDLE_TIMEOUT_MS = 30_000
const HANDLER_TIMEOUT_MS = 10_000

/**
 * An app without routes, with the common parts of both listeners: limits on the size and duration of a request, problems for
 * errors, and one log line for each request. `isUnavailable`: see `errorHandler`.
 */
export function createBase({ log, isUnavailable, observeResponse }: BaseOptions): HttpApp {
  const app: HttpApp = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    http: {
      ...BOUNDED_PIPELINE,
      maxHeaderSize: RAW_HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Refused below: Node's own response has no body.
      requireHostHeader: false,
    },
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    handlerTimeout: HANDLER_TIMEOUT_MS,
    connectionTimeout: SOCKET_IDLE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    // Requests in progress during a stop are still answered.
    return503OnClosing: false,
    // The header limit bounds the path: a long locator is simply not found.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX },
    frameworkErrors: routerErrorHandler,
    clientErrorHandler: answerClientError,
  }).withTypeProvider<ZodTypeProvider>()

  // Node would answer an unknown `Expect` with an empty 417; it may be ignored (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', app.routing)

  app.server.on('upgrade', closeOnceAnswered)

  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(errorHandler(isUnavailable))
  app.addHook('onRoute', (route) => {
    route.handler = dropLateResult(route.handler)
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    if (headerBytes(request.raw) > HEADER_BYTES_MAX) {
      throw new ProblemError('headers-too-large', { headers: { connection: 'close' } })
    }
    // RFC 9112, 3.2.
    if (request.raw.httpVersion === '1.1' && headerCount(request.raw, 'host') !== 1) {
      throw new ProblemError('invalid-request', { detail: 'There must be one Host header.' })
    }
  })
  // A hook of its own: when the first one has run, Node has parsed the chunk, and may have closed the connection.
  app.addHook('onRequest', (request, reply, next) => {
    if (request.raw.socket.destroyed) reply.hijack()
    else next(request.is404 ? notFound(request) : undefined)
  })
  // The query parser keeps text that it cannot decode, which would then filter by a wrong value.
  app.addHook('preValidation', async ({ originalUrl, routeOptions }) => {
    if (routeOptions.schema?.querystring !== undefined && !isPercentEncoded(originalUrl)) {
      throw new ProblemError('invalid-request', { detail: 'The query is not valid percent-encoded text.' })
    }
  })
  // The route's pattern only: paths and queries identify people.
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions } = request
    noteAnswered(request.raw)
    observeResponse(routeOptions.url ?? 'none', method, reply.statusCode, reply.elapsedTime / 1_000)
    request.log.debug(
      { method, route: routeOptions.url, status: reply.statusCode, elapsedMs: Math.round(reply.elapsedTime) },
      'request answered',
    )
  })
  return app
}

/** The variable of the listener that serves a path. Probes and Prometheus are often sent to the wrong port. */
const PORTS = new Map([
  ['/healthz', 'PORT'],
  ['/readyz', 'PORT'],
  ['/startupz', 'MANAGEMENT_PORT'],
  ['/metrics', 'MANAGEMENT_PORT'],
])

function notFound(request: FastifyRequest): ProblemError {
  const port = PORTS.get(request.url)
  if (port === undefined) return new ProblemError('not-found')
  const detail = `${request.url} is served at ${port}, not here.`
  request.log.warn(`probe sent to the wrong port: ${detail}`)
  return new ProblemError('not-found', { detail })
}

/** Drops a handler's result if its request was already answered, for example after a timeout: Fastify would send a second answer. */
function dropLateResult(handler: RouteHandlerMethod): RouteHandlerMethod {
  return async function handleUntilAnswered(request, reply) {
    try {
      const payload = await handler.call(this, request, reply)
      return reply.sent ? undefined : payload
    } catch (error) {
      if (!reply.sent) throw error
      request.log.debug({ err: error }, 'a handler failed after its request was answered')
      return undefined
    }
  }
}

/** Size of the request target and the headers, without the token. */
function headerBytes({ url = '', rawHeaders, headers: { authorization = '' } }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, { length }) => bytes + length, url.length - authorization.length)
}

/** How often a header was sent. Of two `Host` or `Authorization` headers, Node silently drops the second. */
export function headerCount({ rawHeaders }: IncomingMessage, header: string): number {
  return rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === header).length
}
