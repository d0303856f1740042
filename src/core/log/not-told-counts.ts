import { z } from 'zod'

/** Of those who were not told: how many events, and of how many parties. An event can name no party. */
const both = { eventCount: z.int(), partyCount: z.int() }

/** Those who were not told, counted by reason and by party: the most frequent ones. */
export const notToldCounts = z.object({
  ...both,
  /** The failure reason up to its first colon. */
  byReason: z.array(z.object({ reason: z.string(), ...both })),
  reasonCount: z.int(),
  byParty: z.array(z.object({ partyLocator: z.string(), eventCount: z.int() })),
  /** Null: all are counted. Else only those since then were: there are more rows than are looked at. */
  cutAt: z.string().nullable(),
})
export type NotToldCounts = Readonly<z.infer<typeof notToldCounts>>
