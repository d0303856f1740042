import type { Logger } from 'pino'
import type { Test } from 'tap'
import type { NewPreferences } from '../../../src/service/decide/party/preferences.ts'
import { createKeySet } from '../../../src/service/http/auth/key-set.ts'
import type { TokenRules } from '../../../src/service/http/auth/token-claims.ts'
import type { Tokens } from '../../../src/service/http/auth/tokens.ts'
import { EXPLAINED_ENTRY_EXAMPLE } from '../../../src/service/http/examples.ts'
import { buildApp, type PublicOptions } from '../../../src/service/http/public.ts'
import { type Http, serve } from '../../../src/service/http/server/server.ts'
import type { ExplainedLogEntry, ListedLogEntry } from '../../../src/service/model/log/log-entry.ts'
import type { LogFilter } from '../../../src/service/model/log/log-filters.ts'
import type { LogPosition, PageRequest } from '../../../src/service/model/log/log-page.ts'
import { ANY_PARTY } from '../../../src/service/model/party-claim.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import type { Since } from '../../../src/service/time/duration.ts'
import {
  ADMIN_SCOPE,
  AUDIENCE,
  type IdentityProvider,
  OPERATOR_SCOPE,
} from '../../stack/identity-provider.ts'

/** A log locator that ends in this number. */
export function locator(number: number): string {
  return `NTF-01900000-0000-7000-8000-${String(number).padStart(12, '0')}`
}

export const ENTRY: ExplainedLogEntry = {
  ...EXPLAINED_ENTRY_EXAMPLE,
  locator: locator(1),
  eventId: 'event-1',
  partyLocator: 'PTY-1',
  eventType: 'claim.rejected',
  subject: 'Your claim',
  body: 'Your claim CLM-1 was rejected',
  sentAt: '2026-01-31T12:00:00.500000Z',
  reference: 'CLM-1',
  receipt: 'recorded:EMAIL:event-1/1',
  story: {
    ...EXPLAINED_ENTRY_EXAMPLE.story,
    what: 'On 2026-01-31T12:00:00.500000Z, the email “Your claim” about CLM-1 for member PTY-1 was recorded only: no transport is connected, so nothing was delivered.',
    timeline: [
      { at: '2026-01-31T12:00:00.123456Z', until: null, words: 'The event claim.rejected was processed.' },
      { at: '2026-01-31T12:00:00.500000Z', until: null, words: 'Email recorded, not delivered.' },
    ],
  },
  decisions: EXPLAINED_ENTRY_EXAMPLE.decisions.map((decision) => ({
    ...decision,
    receipt: 'recorded:EMAIL:event-1/1',
    partition: 2,
    offset: '9007199254740993',
    traceUrl: `https://traces.example/${decision.traceId}`,
    preferenceChange: { changedAt: '2026-01-30T12:00:00.000000Z', changedBy: null, optedOutAt: null },
  })),
}

const { decisions: _, story: __, ...row } = ENTRY
/** The entry as lists have it. */
export const LISTED: ListedLogEntry = { ...row, because: null }

/** The position of `ENTRY` in the log. */
export const PLACE: LogPosition = { createdAt: ENTRY.createdAt, locator: ENTRY.locator }

/** Options that check every claim of this provider's tokens except the party. */
export function tokensOf({ keySetUrl, issuer }: Pick<IdentityProvider, 'keySetUrl' | 'issuer'>): TokenRules {
  return {
    keySetUrl,
    issuer,
    audience: AUDIENCE,
    adminScope: ADMIN_SCOPE,
    operatorScope: OPERATOR_SCOPE,
    adminClaim: 'scope',
    partyClaim: ANY_PARTY,
  }
}

/** Options that check only signature and times. */
export function anyTokensOf({ keySetUrl }: Pick<IdentityProvider, 'keySetUrl'>): TokenRules {
  return {
    keySetUrl,
    issuer: null,
    audience: null,
    adminScope: null,
    operatorScope: null,
    adminClaim: 'scope',
    partyClaim: ANY_PARTY,
  }
}

export type WithTokenRules<Needs> = Partial<Omit<Needs, 'tokens'>> & { readonly tokens?: TokenRules | null }

export function withKeySet(rules: TokenRules | null, log: Logger): Tokens | null {
  return rules && { ...rules, keySet: createKeySet(rules.keySetUrl, log) }
}

/** The error that `isUnavailable` of `dependencies` recognises as an outage. */
export const OUTAGE = new Error('connect ECONNREFUSED postgres://user:hunter2@db')

/** Dependencies of an app with one log entry and no preferences, which record their calls and log lines. */
export function dependencies({ tokens = null, ...overrides }: WithTokenRules<PublicOptions> = {}) {
  const asked: { filter: LogFilter<Since>; page: PageRequest<LogPosition> }[] = []
  const askedFor: string[] = []
  const logged: string[] = []
  const stored = new Map<string, NewPreferences & { changedBy: string | null }>()
  const log = overrides.log ?? createLog('debug', { write: (line) => void logged.push(line) })
  const all: PublicOptions = {
    log,
    readiness: async () => null,
    logEntries: {
      list: async (filter, page) => {
        asked.push({ filter, page })
        return { items: [LISTED], next: page.after === null ? PLACE : null }
      },
      get: async (wanted) => {
        askedFor.push(wanted)
        return wanted === ENTRY.locator ? ENTRY : null
      },
    },
    preferences: {
      list: async ({ limit, after }) => {
        const parties = [...stored.keys()].sort().filter((party) => after === null || party > after)
        const items = parties.slice(0, limit).map((partyLocator) => ({
          partyLocator,
          ...(stored.get(partyLocator) as NewPreferences),
        }))
        return { items, next: parties.length > limit ? (parties[limit - 1] ?? null) : null }
      },
      get: async (partyLocator) => stored.get(partyLocator) ?? null,
      put: async (partyLocator, preferences, changedBy) => {
        stored.set(partyLocator, { ...preferences, changedBy })
        return preferences
      },
    },
    isUnavailable: (error) => error === OUTAGE,
    observeResponse: () => {},
    requestCountMax: 100,
    tokens: withKeySet(tokens, log),
    ...overrides,
  }
  return { all, asked, askedFor, logged, stored }
}

/** Serves the public routes on a free port until the end of the test. */
export async function served(
  t: Pick<Test, 'teardown'>,
  all: PublicOptions = dependencies().all,
): Promise<{ readonly http: Http; readonly url: string; readonly port: number }> {
  const http = serve(buildApp(all), { host: '127.0.0.1', port: 0 })
  t.teardown(() => http.close(0))
  const url = await http.listen()
  return { http, url, port: Number(new URL(url).port) }
}
