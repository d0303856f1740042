import { ProblemError } from '../problems/problem.ts'
import type { HttpApp } from './base.ts'

/**
 * Answers an unknown method of a known path with 405 and `Allow`, instead of Fastify's 404. Watches the routes added to `app` from
 * now on; register the returned plugin after the last of them.
 */
export function otherMethods(app: HttpApp): (scope: HttpApp) => Promise<void> {
  const methodsByPath = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsByPath.get(url) ?? new Set()
    for (const name of [method].flat()) methods.add(name)
    methodsByPath.set(url, methods)
  })

  return async (scope) => {
    for (const [url, allowed] of [...methodsByPath]) {
      const allow = [...allowed].sort().join(', ')
      const method = scope.supportedMethods.filter((name) => !allowed.has(name))
      const refuse = async () => {
        throw new ProblemError('method-not-allowed', { headers: { allow } })
      }
      // In a hook, so that no body is parsed.
      scope.route({
        method,
        url,
        config: { access: 'open', returnsPersonalData: false },
        exposeHeadRoute: false,
        onRequest: refuse,
        handler: refuse,
      })
    }
  }
}
