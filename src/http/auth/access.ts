import type { RouteOptions } from 'fastify'

/**
 * Who may use a route where tokens are validated: `open` needs no token, `token` any valid one, `admin` one with the
 * scope for the administrative views (specification, "Authentication" and "Endpoints").
 */
export type Access = 'open' | 'token' | 'admin'

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
