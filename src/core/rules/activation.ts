import { z } from 'zod'

/** A rule table that came into force. Times are in UTC with microseconds. */
export const activation = z.object({
  revision: z.string(),
  gitCommit: z.string().nullable(),
  activatedAt: z.string(),
})
export type Activation = Readonly<z.infer<typeof activation>>
