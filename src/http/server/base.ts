import type { IncomingMessage } from 'node:http'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  fastify,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Logger } from 'pino'
import { answerClientError } from '../problems/client-error.ts'
import { errorHandler, routerErrorHandler } from '../problems/error-handler.ts'
import { ProblemError } from '../problems/problem.ts'

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

const HEADER_BYTES_MAX = 16 * 1024
/** What Node refuses by itself. A token that is too long stays below it: authentication answers, or ignores it. */
const RAW_HEADER_BYTES_MAX = 128 * 1024
const BODY_BYTES_MAX = 64 * 1024
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 15_000
/** How often Node looks for requests over these two; its default, 30 s, would be the time-out in effect. */
const TIMEOUT_CHECK_MS = 2_000
/** A little longer than the 60 s of common load balancers, so that it is they who close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
const SOCKET_IDLE_TIMEOUT_MS = 30_000
const HANDLER_TIMEOUT_MS = 10_000

/**
 * An app without routes, with what every listener of ours has: bounds on all that a client sends and on how long it
 * may take, problems for errors, and one line in the log for each request. `isUnavailable`: see `errorHandler`.
 */
export function createBase(log: Logger, isUnavailable: (error: unknown) => boolean): App {
  const app: App = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    http: {
      maxHeaderSize: RAW_HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Refused below, since Node's own answer is empty.
      requireHostHeader: false,
    },
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    handlerTimeout: HANDLER_TIMEOUT_MS,
    connectionTimeout: SOCKET_IDLE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    // What is under way when told to stop is still answered.
    return503OnClosing: false,
    // A path is bounded by the header limit; a long locator is unknown, not an error of its own.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX },
    frameworkErrors: routerErrorHandler,
    clientErrorHandler: answerClientError,
  }).withTypeProvider<ZodTypeProvider>()

  // An unknown `Expect` would be an empty 417 of Node's; it may be ignored (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', app.routing)

  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(errorHandler(isUnavailable))
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    if (headerBytes(request.raw) > HEADER_BYTES_MAX) {
      throw new ProblemError('headers-too-large', { headers: { connection: 'close' } })
    }
    if (request.raw.httpVersion === '1.1' && hostCount(request.raw) !== 1) {
      throw new ProblemError('invalid-request', { detail: 'There must be one Host header.' })
    }
    if (request.is404) throw new ProblemError('not-found')
  })
  // The parser of queries keeps what it cannot decode as it came: a filter for another value than was meant.
  app.addHook('preValidation', async ({ originalUrl, routeOptions }) => {
    if (routeOptions.schema?.querystring !== undefined && !isPercentEncoded(originalUrl)) {
      throw new ProblemError('invalid-request', { detail: 'The query is not a valid percent-encoded text.' })
    }
  })
  // The route's pattern, not its path and query: those name people.
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions } = request
    request.log.debug(
      { method, route: routeOptions.url, status: reply.statusCode, elapsedMs: Math.round(reply.elapsedTime) },
      'request answered',
    )
  })
  return app
}

/** The size of a request's target and headers, without its token. */
function headerBytes({ url = '', rawHeaders, headers: { authorization = '' } }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, { length }) => bytes + length, url.length - authorization.length)
}

function isPercentEncoded(url: string): boolean {
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

/** Node keeps the first of two and drops the other one silently (RFC 9112, 3.2, wants a 400). */
function hostCount({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((name, i) => i % 2 === 0 && /^host$/i.test(name)).length
}
