import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { createKeySet } from '../../service/http/auth/key-set.ts'
import { findAskRefusal } from '../../service/http/auth/rights.ts'
import type { Refusal, TokenRules } from '../../service/http/auth/token-claims.ts'
import { requireTokens } from '../../service/http/auth/tokens.ts'
import { ProblemError } from '../../service/http/problems/problem.ts'
import { createBase, type HttpApp } from '../../service/http/server/base.ts'

/** The locator of no party. */
const NOBODY = 'notifications-doctor'

interface Answer {
  readonly refusal: Refusal | null
  readonly operator: Refusal | null
  /** The token's own party, if it was accepted. */
  readonly named?: unknown
}

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
  requireTokens(app, { ...rules, keySet })
  app.register(async (routes: HttpApp) => {
    routes.setErrorHandler((error, _request, reply) => {
      if (!(error instanceof ProblemError) || error.code === 'unavailable') throw error
      reply.send({ refusal: error.cause, operator: null } as never)
    })
    for (const access of ['token', 'admin', 'party'] as const) {
      const config = { access, returnsPersonalData: false }
      const handler = async ({ user }: FastifyRequest): Promise<Answer> => ({
        refusal: null,
        operator: findAskRefusal({ user }, { tokens: rules, isLoopback: false }),
        named: (user as Readonly<Record<string, unknown>>)[rules.partyClaim ?? ''],
      })
      routes.route({ method: 'GET', url: `/${access}/:partyLocator`, config, handler })
    }
  })
  const ask = async (access: string, partyLocator: string): Promise<Answer> => {
    const url = `/${access}/${encodeURIComponent(partyLocator)}`
    const answer = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
    if (answer.statusCode >= 500) throw new Error('the key set of IDP_JWKS_URI cannot be loaded')
    return answer.json()
  }
  try {
    const { refusal, operator, named } = await ask('token', NOBODY)
    const admin = await ask('admin', NOBODY)
    const isNamed = typeof named === 'string' && named !== ''
    const party = await ask('party', isNamed ? named : NOBODY)
    return {
      token: refusal,
      admin: admin.refusal,
      operator,
      party: isNamed ? party.refusal : wantAnyParty(party.refusal, rules),
    }
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
      disagreements: refusal.disagreements.map((disagreement) =>
        disagreement.claim === partyClaim
          ? { ...disagreement, wanted: "the member's locator, as a text" }
          : disagreement,
      ),
    }
  )
}
