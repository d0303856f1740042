import type { FastifyReply } from 'fastify'
import { z } from 'zod'

/** Every kind of error that a client can see. The key is also the code in logs. */
export const PROBLEMS = {
  'invalid-request': { status: 400, title: 'The request is not valid' },
  unauthorized: { status: 401, title: 'A valid token is required' },
  forbidden: { status: 403, title: 'This is not allowed' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'This method is not allowed here' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The content type is not supported' },
  misdirected: { status: 421, title: 'The host name is not known here' },
  'too-many-changes': { status: 429, title: 'Too much was changed' },
  'headers-too-large': { status: 431, title: 'The headers are too large' },
  internal: { status: 500, title: 'Internal server error' },
  unavailable: { status: 503, title: 'The service is temporarily unavailable' },
} as const
export type ProblemCode = keyof typeof PROBLEMS

export function codeOfStatus(status: number): ProblemCode | undefined {
  return (Object.keys(PROBLEMS) as ProblemCode[]).find((code) => PROBLEMS[code].status === status)
}

/** One fault of a request: `parameter` names a path or query parameter, `pointer` (RFC 6901) a value in the body. */
const fault = z.object({
  detail: z.string(),
  parameter: z.string().optional(),
  pointer: z.string().optional(),
})
export type InputFault = z.infer<typeof fault>

/** Body of every error, RFC 9457. */
export const problemBody = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  errors: z.array(fault).optional(),
})
type ProblemBody = z.infer<typeof problemBody>

interface ProblemOptions extends ErrorOptions {
  readonly detail?: string
  readonly errors?: readonly InputFault[]
  readonly headers?: Readonly<Record<string, string>>
}

/** Thrown to answer a request with a problem. The client sees all of it except `cause`. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  readonly detail: string | undefined
  readonly errors: readonly InputFault[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ProblemCode, { detail, errors, headers = {}, cause }: ProblemOptions = {}) {
    // Without a stack: nobody reads it, and it costs more than finding the route.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(detail ?? PROBLEMS[code].title, { cause })
    Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.detail = detail
    this.errors = errors
    this.headers = headers
  }
}

/** The body of an error. `type` is a URN: it identifies the kind of problem and points to no document. */
export function buildBody({
  code,
  detail,
  errors,
}: Pick<ProblemError, 'code' | 'detail' | 'errors'>): ProblemBody {
  return {
    type: `urn:problem-type:notifications-service:${code}`,
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    ...(detail === undefined ? {} : { detail }),
    ...(errors === undefined ? {} : { errors: [...errors] }),
  }
}

export function sendProblem(reply: FastifyReply, problem: ProblemError): void {
  reply
    .code(PROBLEMS[problem.code].status)
    .headers(problem.headers)
    .type('application/problem+json')
    // Fastify's serializer would add a charset, which this media type does not have.
    .serializer(JSON.stringify)
    .send(buildBody(problem))
}
