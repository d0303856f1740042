import type { FastifyContextConfig, FastifyRequest, RouteOptions } from 'fastify'
import { ANY_PARTY } from '../../model/party-claim.ts'
import { ProblemError } from '../problems/problem.ts'
import type { HttpApp } from '../server/base.ts'
import { lackOfParty, lackOfRight, type Refusal, type TokenRules, wordsIn } from './token-claims.ts'

/** The `WWW-Authenticate` header of every refusal. */
export const CHALLENGE = 'Bearer realm="notifications-service"'

/**
 * The token that a route needs if tokens are validated: `open` none, `token` any valid one, `admin` one with the scope for the
 * administrative views (specification, "Authentication" and "Endpoints"). `operator`: one with the scope to ask the service, or none
 * where `findAskRefusal` allows it. `party`: a token of the party in the path (`IDP_PARTY_CLAIM`), one with the administrators' scope,
 * or, if IDP_PARTY_CLAIM is `none`, any valid one.
 */
export type Access = 'open' | 'token' | 'party' | 'admin' | 'operator'

declare module 'fastify' {
  interface FastifyContextConfig {
    access: Access
    /** True if the answer reveals something about a member. Each such answer is logged, and an operator needs the right to read, too. */
    returnsPersonalData: boolean
  }
}

/** Throws for a route that does not declare its access: a forgotten declaration must not leave it open, or unlogged. */
export function requireAccess({ method, url, config }: RouteOptions): void {
  if (config?.access === undefined || config.returnsPersonalData === undefined) {
    throw new Error(
      `${method} ${url} does not declare its access: add \`config: { access: …, returnsPersonalData: … }\``,
    )
  }
}

/** Requests whose token names the party of the path. */
const ofOwnParty = new WeakSet<FastifyRequest>()

/** True if a request is about the party that its token names. */
export function isOfOwnParty(request: FastifyRequest): boolean {
  return ofOwnParty.has(request)
}

/** The party that a request is about; undefined if its route names none. */
export function partyInPath({ params }: FastifyRequest): string | undefined {
  return ((params ?? {}) as { readonly partyLocator?: string }).partyLocator
}

/**
 * Throws a 403 that names the missing right, unless the request's token has the right that its route needs: an administrator's, or
 * that of the party in the path to its own preferences. A null scope requires none. `config` differs from the route's where the
 * body determines what the answer reveals.
 */
export function requireRight(
  request: FastifyRequest,
  { partyClaim, adminScope, adminClaim }: TokenRules,
  config: Pick<FastifyContextConfig, 'access' | 'returnsPersonalData'> = request.routeOptions.config,
): void {
  const { access, returnsPersonalData } = config
  const isForParty = access === 'party' && partyClaim !== ANY_PARTY
  const token: Readonly<Record<string, unknown>> = request.user ?? {}
  const partyLocator = partyInPath(request)
  // An exact match: locators are case-sensitive.
  if (isForParty && partyClaim !== null && partyLocator !== undefined && token[partyClaim] === partyLocator) {
    ofOwnParty.add(request)
    return
  }
  const isForReaders = access === 'admin' || (access === 'operator' && returnsPersonalData)
  if (!isForReaders && !isForParty) return
  if (adminScope === null || wordsIn(token, adminClaim).includes(adminScope)) return
  const missing = `${adminScope} in its claim ${adminClaim}`
  // A role is not a scope that a client could request.
  const scope = ['scope', 'scp'].includes(adminClaim) ? `, scope="${adminScope}"` : ''
  const allows =
    partyClaim === null
      ? 'allows no preferences: IDP_PARTY_CLAIM, the claim that names the party of a token, is not set'
      : `allows only the preferences of the party in its claim ${partyClaim}`
  throw new ProblemError('forbidden', {
    detail: isForParty && partyClaim !== null ? `The token ${allows}.` : `The token needs ${missing}.`,
    cause: {
      reason: `the token does not have ${missing}${isForParty ? `, and the token ${allows}` : ''}`,
      disagreements: [
        ...(isForParty && partyClaim !== null && partyLocator !== undefined
          ? [lackOfParty(token, partyClaim, partyLocator)]
          : []),
        lackOfRight(token, { adminClaim }, adminScope, 'IDP_ADMIN_SCOPE'),
      ],
    } satisfies Refusal,
    headers: { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope"${scope}` },
  })
}

/**
 * The people who may make requests: holders of the operators' scope; without an identity provider everyone, if only this machine
 * reaches the listener.
 */
export interface AskRules {
  readonly tokens: TokenRules | null
  readonly isLoopback: boolean
}

/** Refuses unauthorised requests on every route for operators. Call it before routes are added. */
export function requireAsker(app: HttpApp, rules: AskRules): void {
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.access !== 'operator') return
    const refusal = isFromElsewhere(request) ? refusalFor(ELSEWHERE) : findAskRefusal(request, rules)
    if (refusal === null) return
    const challenge = { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope"` }
    throw new ProblemError('forbidden', {
      detail: refusal.reason,
      cause: refusal,
      ...(rules.tokens && { headers: challenge }),
    })
  })
}

/** The reason why a request may not ask the service to act, or null. */
export function findAskRefusal(
  { user }: Pick<FastifyRequest, 'user'>,
  { tokens, isLoopback }: AskRules,
): Refusal | null {
  if (tokens === null)
    return isLoopback
      ? null
      : refusalFor(
          'Without an identity provider (IDP_JWKS_URI) the console only shows, unless MANAGEMENT_HOST is a loopback address.',
        )
  const { operatorScope, adminClaim } = tokens
  if (operatorScope === null) return refusalFor('IDP_OPERATOR_SCOPE is not set: the console only shows.')
  const token = user ?? {}
  if (wordsIn(token, adminClaim).includes(operatorScope)) return null
  return refusalFor(`The token needs ${operatorScope} in its claim ${adminClaim}.`, [
    lackOfRight(token, { adminClaim }, operatorScope, 'IDP_OPERATOR_SCOPE'),
  ])
}

function refusalFor(reason: string, disagreements: Refusal['disagreements'] = []): Refusal {
  return { reason, disagreements }
}

const ELSEWHERE = 'The request comes from a page of another origin.'

/** True if, by its headers, another page made the request. */
function isFromElsewhere({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}
