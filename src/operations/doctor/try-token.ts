import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { createKeySet } from '../../service/http/auth/key-set.ts'
import { findAskRefusal } from '../../service/http/auth/rights.ts'
import type { Refusal, TokenRules } from '../../service/http/auth/token-claims.ts'
import { requireTokens } from '../../service/http/auth/tokens.ts'
import { ProblemError } from '../../service/http/problems/problem.ts'
import { createBase } from '../../service/http/server/base.ts'

/** The locator of no party. */
const NOBODY = 'notifications-doctor'

/**
 * Tests a token like a client of the API, on a route for any valid token, one for administrators, one for the token's party, and
 * one for operators. Resolves to the refusal of each, or null. Rejects if the key set cannot be loaded.
 */
export async function tryToken(
  token: string,
  rules: TokenRules,
  log: Logger,
): Promise<Readonly<Record<'token' | 'admin' | 'operator' | 'party', Refusal | null>>> {
  const keySet = createKeySet(rules.keySetUrl, log)
  const app = createBase({ log, isUnavailable: () => false, observeResponse: () => {} })
  let refusal: Refusal | null = null
  app.addHook('onError', async (_request, _reply, error) => {
    if (error instanceof ProblemError && error.code !== 'unavailable') refusal = error.cause as Refusal
  })
  requireTokens(app, { ...rules, keySet })
  let named: unknown
  let operator: Refusal | null = null
  for (const access of ['token', 'admin', 'party'] as const) {
    const config = { access, returnsPersonalData: false }
    const handler = async ({ user }: FastifyRequest) => {
      named = (user as Readonly<Record<string, unknown>>)[rules.partyClaim ?? '']
      operator = findAskRefusal({ user }, { tokens: rules, isLoopback: false })
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
    const admin = await ask('admin', NOBODY)
    const isNamed = typeof named === 'string' && named !== ''
    const party = await ask('party', isNamed ? `${named}` : NOBODY)
    return { token, admin, operator, party: isNamed ? party : wantAnyParty(party, rules) }
  } finally {
    await app.close()
    keySet.stop()
  }
}

/** The request named no party that the token could name. */
function wantAnyParty(refusal: Refusal | null, { partyClaim }: TokenRules): Refusal | null {
  return (
    refusal && {
      ...refusal,
      disagreements: refusal.disagreements.map((one) =>
        one.claim === partyClaim ? { ...one, wanted: "the member's locator, as a text" } : one,
      ),
    }
  )
}
