import { sql } from 'slonik'
import { z } from 'zod'
import { storedPreferences } from '../../core/party/preferences.ts'

/** Preferences as they are read, from the history too. */
export const preferencesRow = storedPreferences.extend({
  // Anything else that a list holds was not put there by us, and opts out of nothing.
  optedOutEvents: z.array(z.unknown()).transform((types) => types.filter((type) => typeof type === 'string')),
})

/** The columns of `preferencesRow`. */
export const PREFERENCES_COLUMNS = sql.fragment`
  email, phone, preferred_channel AS "preferredChannel", opted_out_events AS "optedOutEvents"`
