import type { RouteOptions } from 'fastify'

/**
 * Who may use a route where tokens are validated: `open` needs none, `token` any valid one, `admin` one for the
 * administrative views (specification, "Authentication" and "Endpoints").
 */
export type Access = 'open' | 'token' | 'admin'

declare module 'fastify' {
  interface FastifyContextConfig {
    access: Access
  }
}

/** Throws for a route that does not say who may use it: a forgotten one must not come up open. */
export function requireAccess({ method, url, config }: RouteOptions): void {
  if (config?.access === undefined) {
    throw new Error(`${method} ${url} does not say who may use it: give it \`config: { access: … }\``)
  }
}
