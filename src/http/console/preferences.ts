import { z } from 'zod'
import {
  type PreferenceChange,
  preferenceChange,
  preferenceHistory,
  type StoredPreferences,
} from '../../core/party/preferences.ts'
import { problemBody } from '../problems/problem.ts'
import { time } from '../request/fields.ts'
import { params } from '../routes/preferences.ts'
import type { HttpApp } from '../server/base.ts'

export interface PreferenceReader {
  readonly get: (partyLocator: string) => Promise<StoredPreferences | null>
  /** Returns the event types that no template, rule or logged event has. */
  readonly unknownEventTypes: (eventTypes: readonly string[]) => Promise<readonly string[]>
  /** The newest changes, newest first. */
  readonly changes: (partyLocator: string, countMax: number) => Promise<readonly PreferenceChange[]>
}

const CHANGE_COUNT_MAX = 100

const history = preferenceHistory.extend({ changes: z.array(preferenceChange.extend({ changedAt: time })) })

/** A party's preferences and their history. A party without preferences is no error here. */
export function preferencesRoute(app: HttpApp, { get, unknownEventTypes, changes }: PreferenceReader): void {
  const schema = { params, response: { 200: history, 400: problemBody, 503: problemBody } }
  app.get('/preferences/:partyLocator', { config: { access: 'admin' }, schema }, async (request) => {
    const { partyLocator } = request.params
    const [now, all] = await Promise.all([get(partyLocator), changes(partyLocator, CHANGE_COUNT_MAX + 1)])
    return {
      preferences: now,
      unknownEventTypes: [...(await unknownEventTypes(now?.optedOutEvents ?? []))],
      changes: all.slice(0, CHANGE_COUNT_MAX),
      isMore: all.length > CHANGE_COUNT_MAX,
    }
  })
}
