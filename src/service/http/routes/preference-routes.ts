import { z } from 'zod'
import { isPattern } from '../../decide/event/event-type-pattern.ts'
import { IDENTIFIER_LENGTH_MAX, isPartyLocator } from '../../decide/event/parse-event.ts'
import { CHANNELS, DEFAULT_CHANNEL } from '../../decide/party/channel.ts'
import {
  type NewPreferences,
  type PartyPreferences,
  partyPreferences,
  type StoredPreferences,
  storedPreferences,
} from '../../decide/party/preferences.ts'
import type { ListPage, PageRequest } from '../../model/log/log-page.ts'
import { isOfOwnParty } from '../auth/rights.ts'
import { readSubject } from '../auth/tokens.ts'
import { PARTY_PREFERENCES_EXAMPLE, PREFERENCES_EXAMPLE } from '../examples.ts'
import { acceptJson, text } from '../input/fields.ts'
import { cursors, describedPageSchema, limit } from '../input/paging.ts'
import { ProblemError, problemBody } from '../problems/problem.ts'
import type { HttpApp } from '../server/base.ts'

/** Reads and writes preferences. All functions reject if the database fails. */
export interface PreferencesStore {
  list: (page: PageRequest<string>, signal: AbortSignal) => Promise<ListPage<PartyPreferences, string>>
  get: (partyLocator: string) => Promise<StoredPreferences | null>
  /**
   * Creates or replaces preferences. The history records the author of the change, and whether it was the party. Resolves to the
   * stored preferences, or to null after too many changes in one day.
   */
  put: (
    partyLocator: string,
    preferences: NewPreferences,
    changedBy: string | null,
    isByParty: boolean,
  ) => Promise<StoredPreferences | null>
}

/** RFC 5321: 64 for the local part, one for the @, 255 for the domain. */
const EMAIL_LENGTH_MAX = 320
const PHONE_LENGTH_MAX = 64
const OPTED_OUT_COUNT_MAX = 200
/** By then some changes of the last day have expired. */
const RETRY_AFTER_S = 3_600

/** The path parameter that names a party. */
export const params = z.object({
  partyLocator: z
    .string()
    .refine(
      isPartyLocator,
      `must have 1 to ${IDENTIFIER_LENGTH_MAX} characters, no NUL, and be neither "." nor ".."`,
    )
    .meta({
      description: `Locator of the party, percent-encoded; 1 to ${IDENTIFIER_LENGTH_MAX} characters`,
      examples: [PARTY_PREFERENCES_EXAMPLE.partyLocator],
    }),
})

const channel = z.enum(CHANNELS, `must be one of ${CHANNELS.join(', ')}`)
/** A field of the body, with its words for the API document. */
function field<Schema extends z.ZodType>(name: keyof StoredPreferences, schema: Schema): Schema {
  return schema.describe(storedPreferences.shape[name].description ?? '')
}
/** An opt-out names one type: a pattern, or a cell of the rule table such as `not claim.paid`, would have no effect. */
const optOut = text(IDENTIFIER_LENGTH_MAX).refine(
  (name) => !isPattern(name),
  'must be an event type, not a pattern: list each type, such as claim.paid',
)
const strictBody = z.strictObject(
  {
    email: field('email', text(EMAIL_LENGTH_MAX, 'must be a string or null').nullable().default(null)),
    phone: field('phone', text(PHONE_LENGTH_MAX, 'must be a string or null').nullable().default(null)),
    preferredChannel: field('preferredChannel', channel.default(DEFAULT_CHANNEL)),
    optedOutEvents: field(
      'optedOutEvents',
      z
        .array(optOut, 'must be a list of event types')
        .max(OPTED_OUT_COUNT_MAX, `must have at most ${OPTED_OUT_COUNT_MAX} elements`)
        .default([]),
    ),
  },
  { error: ({ code }) => (code === 'invalid_type' ? 'must be an object' : undefined) },
)

const body = strictBody.meta({ title: 'NewPreferences', examples: [PREFERENCES_EXAMPLE] })
const shown = storedPreferences.meta({
  title: 'Preferences',
  examples: [PREFERENCES_EXAMPLE],
})

/** PostgreSQL refuses NUL. */
const cursor = cursors('preferences', z.string().regex(/^[^\0]*$/))

/**
 * Preferences: one party's, to read and to replace as a whole, and the administrative list of all. `list` cannot be a party
 * locator here, since the list has that path.
 */
export async function preferencesRoutes(app: HttpApp, preferences: PreferencesStore): Promise<void> {
  acceptJson(app)
  const tags = ['Preferences']
  const item = partyPreferences.meta({ title: 'PartyPreferences' })
  const list = describedPageSchema(item).meta({
    title: 'PreferencesPage',
    examples: [{ items: [PARTY_PREFERENCES_EXAMPLE], nextCursor: null }],
  })
  const listSchema = {
    tags,
    operationId: 'listPreferences',
    summary: 'The preferences of all parties, ordered by party locator',
    querystring: z.strictObject({ limit, cursor: cursor.parameter }),
    response: { 200: list },
  }
  app.get(
    '/preferences/list',
    { config: { access: 'admin', returnsPersonalData: true }, schema: listSchema },
    async (request) => {
      const { limit, cursor: after = null } = request.query
      return cursor.toPage(await preferences.list({ limit, after }, request.signal))
    },
  )

  const getSchema = {
    tags,
    operationId: 'getPreferences',
    summary: 'The preferences of a party',
    params,
    response: { 200: shown, 404: problemBody },
  }
  app.get(
    '/preferences/:partyLocator',
    { config: { access: 'party', returnsPersonalData: true }, schema: getSchema },
    async (request) => {
      const found = await preferences.get(request.params.partyLocator)
      if (found === null) throw new ProblemError('not-found', { detail: 'This party has no preferences.' })
      return found
    },
  )

  const putSchema = {
    tags,
    operationId: 'putPreferences',
    summary: 'Create or replace the preferences of a party',
    description:
      'All four fields are replaced; one that is missing gets its default. The response contains the stored preferences.',
    params,
    body,
    response: { 200: shown, 429: problemBody },
  }
  app.put(
    '/preferences/:partyLocator',
    { config: { access: 'party', returnsPersonalData: false }, schema: putSchema },
    async (request) => {
      const { partyLocator } = request.params
      const stored = await preferences.put(
        partyLocator,
        request.body,
        readSubject(request),
        isOfOwnParty(request),
      )
      if (stored === null)
        throw new ProblemError('too-many-changes', {
          detail:
            'The preferences of this party were changed too often in the last 24 hours for such a long list. Nothing was changed.',
          headers: { 'retry-after': String(RETRY_AFTER_S) },
        })
      return stored
    },
  )
}
