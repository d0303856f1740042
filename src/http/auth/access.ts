import type { RouteOptions } from 'fastify'
import type { Config } from '../../config/config.ts'
import { parsePointer, valueAt } from '../../core/event/json-pointer.ts'
import { ProblemError } from '../problems/problem.ts'

/** The `WWW-Authenticate` header of every refusal. */
export const CHALLENGE = 'Bearer realm="notifications-service"'

/**
 * The token that a route needs if tokens are validated: `open` none, `token` any valid one, `admin` one with the scope for the
 * administrative views (specification, "Authentication" and "Endpoints"). `party`: without `IDP_PARTY_CLAIM` any valid token; with
 * it, a token of the party in the path, or one with that scope.
 */
export type Access = 'open' | 'token' | 'party' | 'admin'

declare module 'fastify' {
  interface FastifyContextConfig {
    access: Access
  }
}

/** Throws for a route that does not declare its access: a forgotten declaration must not leave it open. */
export function requireAccess({ method, url, config }: RouteOptions): void {
  if (config?.access === undefined) {
    throw new Error(`${method} ${url} does not declare its access: add \`config: { access: … }\``)
  }
}

/**
 * Throws a 403 that names the missing right, unless a token has the administrator's right. A null scope requires none.
 *
 * @param partyClaim the claim with which a token would be accepted for its own party, if any
 */
export function requireAdmin(
  token: object,
  { adminScope, adminClaim }: Pick<NonNullable<Config['tokens']>, 'adminScope' | 'adminClaim'>,
  partyClaim?: string,
): void {
  if (adminScope === null || wordsIn(token, adminClaim).includes(adminScope)) return
  const missing = `${adminScope} in its claim ${adminClaim}`
  // A role is not a scope that a client could request.
  const scope = ['scope', 'scp'].includes(adminClaim) ? `, scope="${adminScope}"` : ''
  const allows = `allows only the preferences of the party in its claim ${partyClaim}`
  const isMember = partyClaim !== undefined
  throw new ProblemError('forbidden', {
    detail: isMember ? `The token ${allows}.` : `The token needs ${missing}.`,
    cause: `the token does not have ${missing}${isMember ? `, and the token ${allows}` : ''}`,
    headers: { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope"${scope}` },
  })
}

/** The elements of a list claim, or the words of a string claim; none for any other claim. */
function wordsIn(token: object, claim: string): readonly unknown[] {
  const value = valueAt(token, claim.startsWith('/') ? parsePointer(claim) : [claim])
  if (typeof value === 'string') return value.split(' ')
  return Array.isArray(value) ? value : []
}
