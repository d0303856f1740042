import { z } from 'zod'
import { NUMBERED_KINDS, SEARCH_KINDS } from './search-kinds.ts'

/** `locator`: that of the only log entry; null if there may be more than one. */
export const searchHit = z.object({
  kind: z.enum(SEARCH_KINDS),
  value: z.string(),
  locator: z.string().nullable(),
})
export type SearchHit = Readonly<z.infer<typeof searchHit>>

export const searchResult = z.object({
  /** Named exactly as typed. */
  hits: z.array(searchHit),
  /** Named nearly so: spelled otherwise, or with the same beginning or ending. */
  similar: z.array(searchHit),
  /** Kinds of which more names begin so than `similar` lists. Absent from a replica of a version before. */
  beginnings: z.array(z.enum(NUMBERED_KINDS)).optional(),
  /** Kinds of which more names end so than `similar` lists; `isMore` if `count` is only where counting stopped. */
  endings: z.array(z.object({ kind: z.enum(NUMBERED_KINDS), count: z.int(), isMore: z.boolean() })),
})
export type SearchResult = z.infer<typeof searchResult>
