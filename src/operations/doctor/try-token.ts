import type { Logger } from 'pino'
import { createKeySet } from '../../service/http/auth/key-set.ts'
import type { Refusal, TokenRules } from '../../service/http/auth/token-claims.ts'
import { requireTokens } from '../../service/http/auth/tokens.ts'
import { ProblemError } from '../../service/http/problems/problem.ts'
import { createBase } from '../../service/http/server/base.ts'

/**
 * Sends a token to a route that needs any valid one, and to one for administrators, as clients of the API do. Resolves to the
 * refusal of each, or null. Rejects if the key set cannot be loaded.
 */
export async function tryToken(
  token: string,
  rules: TokenRules,
  log: Logger,
): Promise<{ readonly token: Refusal | null; readonly admin: Refusal | null }> {
  const keySet = createKeySet(rules.keySetUrl, log)
  const app = createBase({ log, isUnavailable: () => false, observeResponse: () => {} })
  let refusal: Refusal | null = null
  app.addHook('onError', async (_request, _reply, error) => {
    if (error instanceof ProblemError && error.code !== 'unavailable') refusal = error.cause as Refusal
  })
  requireTokens(app, { ...rules, keySet })
  for (const access of ['token', 'admin'] as const) {
    const config = { access, returnsPersonalData: false }
    app.route({ method: 'GET', url: `/${access}`, config, handler: async () => ({}) })
  }
  const ask = async (url: string) => {
    refusal = null
    const { statusCode } = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
    if (statusCode >= 500) throw new Error('the key set of IDP_JWKS_URI cannot be loaded')
    return refusal
  }
  try {
    return { token: await ask('/token'), admin: await ask('/admin') }
  } finally {
    await app.close()
    keySet.stop()
  }
}
