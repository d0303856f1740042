import { ProblemError } from '../problems/problem.ts'
import type { App } from './base.ts'

/**
 * Makes known paths answer 405, with `Allow`, to the methods that they do not have; Fastify itself would answer 404.
 * Watches the routes that are added to `app` from now on; register the plugin it returns after the last of them.
 */
export function otherMethods(app: App): (scope: App) => Promise<void> {
  const methodsByPath = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsByPath.get(url) ?? new Set()
    for (const each of [method].flat()) methods.add(each)
    methodsByPath.set(url, methods)
  })

  return async (scope) => {
    for (const [url, allowed] of [...methodsByPath]) {
      const allow = [...allowed].sort().join(', ')
      const method = scope.supportedMethods.filter((each) => !allowed.has(each))
      const refuse = async () => {
        throw new ProblemError('method-not-allowed', { headers: { allow } })
      }
      // In a hook, because a body is not worth a look.
      scope.route({
        method,
        url,
        config: { access: 'open' },
        exposeHeadRoute: false,
        onRequest: refuse,
        handler: refuse,
      })
    }
  }
}
