import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type WantedTarget, wantedTarget } from '../../operations/requests/wanted.ts'
import { type AskRules, findAskRefusal, requireRight } from '../../service/http/auth/rights.ts'
import type { TokenRules } from '../../service/http/auth/token-claims.ts'
import { readSubject } from '../../service/http/auth/tokens.ts'
import { acceptJson, identifier, text } from '../../service/http/input/fields.ts'
import { cursors, limit } from '../../service/http/input/paging.ts'
import { ProblemError } from '../../service/http/problems/problem.ts'
import type { HttpApp } from '../../service/http/server/base.ts'
import { logRead } from '../../service/http/server/log-reads.ts'
import { type ListPage, type PageRequest, pageSchema } from '../../service/model/log/log-page.ts'
import { BECAUSE_LENGTH_MAX } from '../../service/model/request/request.ts'
import {
  type RequestPreview,
  requestPreview,
  type StoredRequest,
  storedRequest,
} from '../../service/model/request/schemas.ts'
import { CorrectableError } from '../../service/text/faults.ts'

const id = z.string().regex(/^[1-9]\d{0,17}$/, 'must be the id of a request')

/** A hold of some topics, or of all; or the end of one. */
const holdChange = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('hold'), topics: z.array(identifier).min(1).optional() }),
  z.strictObject({ kind: z.literal('resume'), hold: id }),
])
export type HoldChange = z.infer<typeof holdChange>
export type Wanted = WantedTarget | HoldChange

/** Requests to the service. All reject if the database fails. */
export interface Requests {
  readonly list: (page: PageRequest<string>) => Promise<ListPage<StoredRequest, string>>
  readonly get: (id: string) => Promise<StoredRequest | null>
  /** The present items of the request. Like `add`, rejects with CorrectableError for items that do not exist. */
  readonly preview: (wanted: Wanted, signal: AbortSignal) => Promise<RequestPreview>
  /**
   * Adds a request and returns it; if its author made it before with the same key, returns that one. A hold is in force once this
   * resolves; the end of a hold returns the hold's request.
   */
  readonly add: (wanted: Wanted, by: string, because: string, key: string | null) => Promise<StoredRequest>
  /** False if it has ended, or does not exist. */
  readonly cancel: (id: string, by: string) => Promise<boolean>
}

const BODY_BYTES_MAX = 128 * 1024
/** Recorded as the author if no token names one. */
const NOBODY = 'console'

const cursor = cursors('requests', id)
const wanted = z.union([wantedTarget, holdChange])
const because = text(BECAUSE_LENGTH_MAX).refine((reason) => reason.trim() !== '', 'must not be blank')

/** Chosen at random by the client. */
const key = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits')

/** Requests of people to the running service, newest first; and, for those who may ask, new ones. */
export function requestRoutes(app: HttpApp, requests: Requests, tokens: TokenRules | null): void {
  const admin = { access: 'admin', returnsPersonalData: true } as const
  const listSchema = {
    querystring: z.strictObject({ limit, cursor: cursor.parameter }),
    response: { 200: pageSchema(storedRequest) },
  }
  app.get('/requests', { config: admin, schema: listSchema }, async ({ query }) => {
    const { limit, cursor: after = null } = query
    return cursor.toPage(await requests.list({ limit, after }))
  })
  const params = z.object({ id })
  const oneSchema = { params, response: { 200: storedRequest } }
  app.get('/requests/:id', { config: admin, schema: oneSchema }, async ({ params: { id } }) => {
    const found = await requests.get(id)
    if (found === null) throw new ProblemError('not-found', { detail: 'No request has this id.' })
    return found
  })
  app.register(async (asking: HttpApp) => askRoutes(asking, requests, tokens))
}

/** Returns the reason why the console's reader may not make requests, or null. */
export function rightsRoute(app: HttpApp, rules: AskRules): void {
  const schema = {
    querystring: z.strictObject({}),
    response: { 200: z.object({ refusal: z.string().nullable() }) },
  }
  app.get(
    '/rights',
    { config: { access: 'admin', returnsPersonalData: false }, schema },
    async (request) => ({
      refusal: findAskRefusal(request, rules)?.reason ?? null,
    }),
  )
}

/**
 * The fields that reveal nothing about a member: the key or id may belong to another person's request, whose state and times reveal
 * whether a filter matches an entry.
 */
const impersonal = storedRequest.pick({ id: true, kind: true })

/** The routes that write. A page of another origin cannot send JSON, nor a token. */
function askRoutes(app: HttpApp, requests: Requests, tokens: TokenRules | null): void {
  acceptJson(app)
  const config = { access: 'operator', returnsPersonalData: false } as const
  const telling = { ...config, returnsPersonalData: true }
  const options = { config, bodyLimit: BODY_BYTES_MAX }
  const preview = {
    ...options,
    config: telling,
    schema: { body: wanted, response: { 200: requestPreview } },
  }
  app.post('/requests/preview', preview, async (request, reply) => {
    const { body } = request
    // The request's own signal is aborted as soon as its body has been read.
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    return refuseUnknown(request, body, requests.preview(body, gone.signal))
  })
  const addSchema = {
    body: z.strictObject({ wanted, because, key: key.optional() }),
    response: { 201: impersonal },
  }
  app.post('/requests', { ...options, schema: addSchema }, async (request, reply) => {
    const { wanted, because, key = null } = request.body
    // The refusal of unknown names reveals which names exist.
    if (tokens !== null && ('locators' in wanted || 'ids' in wanted)) requireRight(request, tokens, telling)
    const by = readSubject(request) ?? NOBODY
    const added = await refuseUnknown(request, wanted, requests.add(wanted, by, because, key))
    request.log.info({ tokenSubject: by, request: added.id, kind: added.kind }, 'a request was added')
    return reply.code(201).send(added)
  })
  // Requires a body, since a POST without one can come from any page.
  const cancelSchema = {
    params: z.object({ id }),
    body: z.strictObject({}),
    response: { 200: impersonal },
  }
  app.post('/requests/:id/cancel', { ...options, schema: cancelSchema }, async (request) => {
    const { id } = request.params
    const by = readSubject(request) ?? NOBODY
    const isCancelled = await requests.cancel(id, by)
    const found = await requests.get(id)
    if (found === null) throw new ProblemError('not-found', { detail: 'No request has this id.' })
    if (isCancelled) request.log.info({ tokenSubject: by, request: id }, 'a request was cancelled')
    return found
  })
}

/** The refusal reveals which items do not exist. */
async function refuseUnknown<Result>(
  request: FastifyRequest,
  wanted: Wanted,
  result: Promise<Result>,
): Promise<Result> {
  return result.catch((error: unknown) => {
    if (!(error instanceof CorrectableError)) throw error
    logRead(request, wanted, 0)
    throw new ProblemError('invalid-request', { detail: `${error.message}.` })
  })
}
