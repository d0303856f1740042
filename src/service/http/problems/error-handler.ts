import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { codeOfStatus, type InputFault, PROBLEMS, ProblemError, sendProblem } from './problem.ts'

/** Maximum number of faults in one response: a URL can contain thousands of unknown parameters. */
const FAULTS_MAX = 20
/** More than a nearly correct body can have. */
const BODY_FAULTS_MAX = 250
const RETRY_AFTER_S = 5

/** Answers any error with a problem. `isUnavailable` is true for an outage (503), such as of the database, and false for a bug (500). */
export function errorHandler(isUnavailable: (error: unknown) => boolean) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = isSlowBody(error, request) ? slowBody(error) : toProblem(error, isUnavailable)
    if (error.name === 'AbortError' && reply.raw.destroyed) request.log.debug('the client left')
    // A problem without a cause, such as a failing readiness probe, is a normal response and needs no log line.
    else if (PROBLEMS[problem.code].status >= 500 && problem.cause !== undefined) {
      const level = problem.code === 'internal' ? 'error' : 'warn'
      const { method, routeOptions } = request
      request.log[level]({ err: problem.cause, method, route: routeOptions.url }, 'request failed')
    } else if (problem.code === 'unauthorized' || problem.code === 'forbidden') {
      const { method, routeOptions, user, params } = request
      // The party or entry named in the path, for the audit of reads.
      const { partyLocator, locator } = (params ?? {}) as { partyLocator?: string; locator?: string }
      const tokenSubject = user?.sub ?? null
      const refusal = typeof problem.cause === 'object' ? problem.cause : { reason: problem.cause }
      const fields = {
        ...refusal,
        tokenSubject,
        method,
        route: routeOptions.url,
        partyLocator,
        locator,
      }
      request.log.info(fields, 'request refused')
    } else if (problem.cause !== undefined) {
      request.log.debug({ err: problem.cause }, 'request refused')
    }
    sendProblem(reply, problem)
  }
}

/** Answers errors of the router itself, before any route is matched. */
export function routerErrorHandler(_error: FastifyError, _request: unknown, reply: unknown): void {
  const detail = 'The path is not valid percent-encoded text.'
  sendProblem(reply as FastifyReply, new ProblemError('invalid-request', { detail }))
}

/** True if the handler timed out before the body arrived, because of a slow client. */
function isSlowBody({ code }: FastifyError, { raw }: FastifyRequest): boolean {
  return code === 'FST_ERR_HANDLER_TIMEOUT' && !raw.complete
}

function slowBody(cause: FastifyError): ProblemError {
  // The rest of the body must not be read as the next request.
  return new ProblemError('request-timeout', { cause, headers: { connection: 'close' } })
}

function toProblem(error: FastifyError, isUnavailable: (error: unknown) => boolean): ProblemError {
  if (error instanceof ProblemError) return error
  if (hasZodFastifySchemaValidationErrors(error)) {
    return new ProblemError('invalid-request', { errors: listInputFaults(error) })
  }
  if (isUnavailable(error) || error.code === 'FST_ERR_HANDLER_TIMEOUT') {
    return unavailable('The database cannot be used now. Try again later.', error)
  }
  // The status of any other error comes from another service. A DOMException's code is a number.
  const { statusCode = 500 } = String(error.code).startsWith('FST_') ? error : {}
  // Their texts may repeat client data, so they are not shown.
  const fallback = statusCode >= 400 && statusCode < 500 ? 'invalid-request' : 'internal'
  return new ProblemError(codeOfStatus(statusCode) ?? fallback, { cause: error })
}

/** A temporary problem: the client may try again after a few seconds. */
export function unavailable(detail: string, cause?: unknown): ProblemError {
  return new ProblemError('unavailable', { detail, cause, headers: { 'retry-after': String(RETRY_AFTER_S) } })
}

function listInputFaults({ validation = [], validationContext }: FastifyError): InputFault[] {
  const inBody = validationContext === 'body'
  const faults = validation.flatMap(({ instancePath, message = 'is not valid', params }): InputFault[] => {
    const path = instancePath === '/' ? '' : instancePath
    const at = (steps: readonly PropertyKey[], detail: string): InputFault => {
      const whole = [path, ...steps.map((step) => (inBody ? pointerStep(String(step)) : String(step)))].join(
        '/',
      )
      return inBody ? { detail, pointer: `#${whole}` } : { detail, parameter: whole.slice(1) }
    }
    const list = ({ path: steps, message, keys, errors }: Issue): InputFault[] => {
      const nearest = errors?.toSorted((one, other) => one.length - other.length)[0]
      if (nearest !== undefined)
        return nearest.flatMap((issue) => list({ ...issue, path: [...steps, ...issue.path] }))
      if (!Array.isArray(keys)) return [at(steps, message)]
      return keys.map((key) => at([...steps, key], 'is not a known name here'))
    }
    return list({ ...params, path: [], message })
  })
  return faults.slice(0, inBody ? BODY_FAULTS_MAX : FAULTS_MAX)
}

/** A fault as zod reports it. For a union, it has those of each alternative; the one with the fewest is nearest. */
interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
  readonly errors?: readonly (readonly Issue[])[]
}

/** One name within a JSON pointer in a URI fragment (RFC 6901). */
function pointerStep(name: string): string {
  return encodeURIComponent(name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1'))
}
