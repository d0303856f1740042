import fastifyJwt, { type TokenOrHeader } from '@fastify/jwt'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { IDENTIFIER_LENGTH_MAX } from '../../decide/event/parse-event.ts'
import { unavailable } from '../problems/error-handler.ts'
import { ProblemError } from '../problems/problem.ts'
import { type HttpApp, headerCount } from '../server/base.ts'
import { type KeySet, NoKeysError } from './key-set.ts'
import { CHALLENGE, requireRight } from './rights.ts'
import { ALGORITHMS } from './signing-key.ts'
import {
  CLOCK_TOLERANCE_MS,
  type Disagreement,
  findDisagreements,
  isFromFuture,
  type Refusal,
  show,
  type TokenRules,
} from './token-claims.ts'

const TOKEN_BYTES_MAX = 16 * 1024
const NO_TOKEN: Refusal = { reason: 'there is no bearer token', disagreements: [] }
const AT_PROVIDER = 'the identity provider'

/** The claims used, after signature and times are verified. The database refuses NUL. */
const claims = z.looseObject({
  sub: z
    .string()
    .refine((text) => text !== '' && text.length <= IDENTIFIER_LENGTH_MAX)
    .refine((text) => !text.includes('\0') && text.isWellFormed())
    .optional(),
  // JSON has numbers beyond all doubles, such as 1e400: a token that never expires.
  exp: z.number(),
  iat: z
    .number()
    .refine((iat) => !isFromFuture(iat, Date.now()))
    .optional(),
})

declare module '@fastify/jwt' {
  interface FastifyJWT {
    user: z.infer<typeof claims> | null
  }
}

/** The `sub` of the request's token; null without a validated token or without a `sub`. */
export function readSubject(request: FastifyRequest): string | null {
  return request.user?.sub ?? null
}

/** The settings of token validation. Both listeners share the key set, to halve the requests to the identity provider. */
export interface Tokens extends TokenRules {
  readonly keySet: KeySet
}

/**
 * Requires a valid token with the right that its route needs, on every route whose access is not `open`. Call it before routes are
 * added.
 */
export function requireTokens(app: HttpApp, tokens: Tokens): void {
  const { keySet, issuer, audience } = tokens

  /** The keys that fit a request's token and have not been tried: several may have one id. */
  const untried = new WeakMap<FastifyRequest, string[]>()
  async function verify(request: FastifyRequest): Promise<unknown> {
    try {
      return await request.jwtVerify()
    } catch (error) {
      const { code } = error as { readonly code?: string }
      if (code !== 'FST_JWT_AUTHORIZATION_TOKEN_INVALID' || !untried.get(request)?.length) throw error
      return verify(request)
    }
  }

  app.register(fastifyJwt, {
    decode: { complete: true },
    secret: async (request: FastifyRequest, token: TokenOrHeader) => {
      const header = 'header' in token ? token.header : token
      if (!ALGORITHMS.some((algorithm) => algorithm === header.alg))
        throw invalidToken('the algorithm is not allowed', {
          disagreements: [
            {
              claim: 'alg',
              found: show(header.alg),
              wanted: `one of ${ALGORITHMS.join(', ')}`,
              variable: AT_PROVIDER,
            },
          ],
        })
      const keys = untried.get(request) ?? (await keySet.findKeys(header))
      untried.set(request, keys)
      const key = keys.shift()
      if (key === undefined)
        throw invalidToken('the key id is not in the key set, or not for this algorithm', {
          disagreements: [
            {
              claim: 'kid',
              found: show(header.kid),
              wanted: `the id of a key for ${show(header.alg)} in the key set`,
              variable: 'IDP_JWKS_URI',
            },
          ],
        })
      return key
    },
    verify: {
      extractToken: extractToken,
      algorithms: [...ALGORITHMS],
      clockTolerance: CLOCK_TOLERANCE_MS,
      // Without this, a missing claim would pass.
      requiredClaims: ['exp', ...(issuer === null ? [] : ['iss']), ...(audience === null ? [] : ['aud'])],
      ...(issuer === null ? {} : { allowedIss: issuer }),
      ...(audience === null ? {} : { allowedAud: audience }),
    },
  })

  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.access === 'open') return
    try {
      request.user = claims.parse(await verify(request))
    } catch (error) {
      request.user = null
      const token = (request.headers.authorization ?? '').slice('bearer'.length).trim()
      throw toTokenProblem(error, () => findDisagreements(token, tokens, Date.now()))
    }
    requireRight(request, tokens)
  })
}

/** The bearer token of the request's only `Authorization` header; throws a problem if there is none. */
function extractToken({ headers, raw }: FastifyRequest): string {
  if (headerCount(raw, 'authorization') > 1)
    throw invalidRequest('There must be only one Authorization header.')
  const { authorization = '' } = headers
  if (!/^bearer( |$)/i.test(authorization)) {
    const detail = 'Send a token: Authorization: Bearer <token>.'
    const headers = { 'www-authenticate': CHALLENGE }
    throw new ProblemError('unauthorized', { detail, cause: NO_TOKEN, headers })
  }
  const token = authorization.slice('bearer'.length).trimStart()
  if (token.length > TOKEN_BYTES_MAX) throw invalidToken('the token is too long')
  if (!/^[\w.-]+$/.test(token)) throw invalidRequest('Send exactly one token after "Bearer".')
  if (!token.split('.').every(isCanonical)) throw invalidToken('the token is not canonical base64url')
  return token
}

/** True if the unused bits at the end of Base64url are zero: otherwise one token would have several spellings (RFC 4648, 3.5). */
function isCanonical(segment: string): boolean {
  return Buffer.from(segment, 'base64url').toString('base64url') === segment
}

/** Treats any other error as the token's fault, wherever a library throws it. */
function toTokenProblem(error: unknown, listDisagreements: () => readonly Disagreement[]): ProblemError {
  if (error instanceof ProblemError) return error
  if (error instanceof NoKeysError) return unavailable('Tokens cannot be validated at the moment. Try again.')
  if (error instanceof z.ZodError)
    return invalidToken(CLAIM_FAULTS[String(error.issues[0]?.path[0])] ?? 'the token is malformed', {
      disagreements: listDisagreements(),
    })
  const { code = '', message } = error as Error & { code?: string }
  const disagreements = listDisagreements()
  // Other messages, such as the one about `crit`, may repeat parts of the token.
  if (!/^FA?ST_JWT_(?!INVALID_CRIT)/.test(code))
    return invalidToken('the token is malformed', { disagreements })
  const reason = message.replace(/^Authorization token is invalid: /, '')
  return invalidToken(reason, { detail: DETAILS[code], disagreements })
}

const CLAIM_FAULTS: Readonly<Record<string, string>> = {
  sub: 'the sub claim is not a text of 1 to 255 characters',
  exp: 'the exp claim is not a finite number',
  iat: 'the iat claim is no time that has come',
}

const DETAILS: Readonly<Record<string, string>> = {
  FST_JWT_AUTHORIZATION_TOKEN_EXPIRED: 'The token has expired.',
  FAST_JWT_INACTIVE: 'The token is not valid yet.',
}

interface More {
  readonly detail?: string | undefined
  readonly disagreements?: readonly Disagreement[]
}

/** Reveals little to the client and repeats nothing that it sent; the log has the reason. */
function invalidToken(
  reason: string,
  { detail = 'The token is not valid.', disagreements = [] }: More = {},
): ProblemError {
  return unauthorized('invalid_token', detail, { reason, disagreements })
}

function invalidRequest(detail: string): ProblemError {
  return unauthorized('invalid_request', detail, { reason: detail, disagreements: [] })
}

function unauthorized(error: string, detail: string, cause: Refusal): ProblemError {
  const challenge = `${CHALLENGE}, error="${error}", error_description="${detail.replaceAll('"', "'")}"`
  return new ProblemError('unauthorized', { detail, cause, headers: { 'www-authenticate': challenge } })
}
