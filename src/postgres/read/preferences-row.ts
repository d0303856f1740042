import { sql } from 'slonik'
import { z } from 'zod'
import { CHANNELS } from '../../core/decision/channel.ts'

/** Preferences as they are read; in the history, too. */
export const preferencesRow = z.object({
  email: z.string().nullable(),
  phone: z.string().nullable(),
  preferredChannel: z.enum(CHANNELS),
  // Whatever else a list may hold was not put there by us, and opts out of nothing.
  optedOutEvents: z.array(z.unknown()).transform((types) => types.filter((type) => typeof type === 'string')),
})
/** The columns of `preferencesRow`. */
export const PREFERENCES_COLUMNS = sql.fragment`
  email, phone, preferred_channel AS "preferredChannel", opted_out_events AS "optedOutEvents"`
