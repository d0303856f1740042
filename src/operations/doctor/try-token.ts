import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { createKeySet } from '../../service/http/auth/key-set.ts'
import type { Refusal, TokenRules } from '../../service/http/auth/token-claims.ts'
import { requireTokens } from '../../service/http/auth/tokens.ts'
import { ProblemError } from '../../service/http/problems/problem.ts'
import { createBase } from '../../service/http/server/base.ts'

/** The locator of no party. */
const NOBODY = 'notifications-doctor'

/**
 * Sends a token to a route that needs any valid one, to one for administrators, and to one for the party that the token names, as
 * clients of the API do. Resolves to the refusal of each, or null. Rejects if the key set cannot be loaded.
 */
export async function tryToken(
  token: string,
  rules: TokenRules,
  log: Logger,
): Promise<Readonly<Record<'token' | 'admin' | 'party', Refusal | null>>> {
  const keySet = createKeySet(rules.keySetUrl, log)
  const app = createBase({ log, isUnavailable: () => false, observeResponse: () => {} })
  let refusal: Refusal | null = null
  app.addHook('onError', async (_request, _reply, error) => {
    if (error instanceof ProblemError && error.code !== 'unavailable') refusal = error.cause as Refusal
  })
  requireTokens(app, { ...rules, keySet })
  let named: unknown
  for (const access of ['token', 'admin', 'party'] as const) {
    const config = { access, returnsPersonalData: false }
    const handler = async ({ user }: FastifyRequest) => {
      named = (user as Readonly<Record<string, unknown>>)[rules.partyClaim ?? '']
      return {}
    }
    app.route({ method: 'GET', url: `/${access}/:partyLocator`, config, handler })
  }
  const ask = async (access: string, partyLocator: string) => {
    refusal = null
    const url = `/${access}/${encodeURIComponent(partyLocator)}`
    const { statusCode } = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
    if (statusCode >= 500) throw new Error('the key set of IDP_JWKS_URI cannot be loaded')
    return refusal
  }
  try {
    const token = await ask('token', NOBODY)
    return {
      token,
      admin: await ask('admin', NOBODY),
      party: await ask('party', typeof named === 'string' && named !== '' ? named : NOBODY),
    }
  } finally {
    await app.close()
    keySet.stop()
  }
}
