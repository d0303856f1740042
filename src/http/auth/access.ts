import type { RouteOptions } from 'fastify'
import { ProblemError } from '../problems/problem.ts'

/** The `WWW-Authenticate` header of every refusal. */
export const CHALLENGE = 'Bearer realm="notifications-service"'

/**
 * The token that a route needs if tokens are validated: `open` none, `token` any valid one, `admin` one with the scope for the
 * administrative views (specification, "Authentication" and "Endpoints"). `party` needs a token of the party in the path, if
 * tokens name their party, or else that scope.
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

/** Throws a 403 that names the scope, unless a token has the scope of the administrative views; null asks for none. */
export function requireScope(
  { scope = '' }: { scope?: string | undefined },
  wanted: string | null,
  detail = `The token needs the scope ${wanted}.`,
): void {
  if (wanted === null || scope.split(' ').includes(wanted)) return
  throw new ProblemError('forbidden', {
    detail,
    headers: { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${wanted}"` },
  })
}
