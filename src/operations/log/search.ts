import { z } from 'zod'
import { NUMBERED_KINDS, SEARCH_KINDS } from './search-kinds.ts'

/** `locator`: of the only log entry; null if there may be more than one. */
export const searchHit = z.object({
  kind: z.enum(SEARCH_KINDS),
  value: z.string(),
  locator: z.string().nullable(),
})
export type SearchHit = Readonly<z.infer<typeof searchHit>>

export const searchResult = z.object({
  /** Names exactly as typed. */
  hits: z.array(searchHit),
  /** Similar names: spelled differently, or with the same beginning or ending. */
  similar: z.array(searchHit),
  /** Kinds with more names of the same beginning than `similar` lists. Absent from an older replica. */
  beginnings: z.array(z.enum(NUMBERED_KINDS)).optional(),
  /** Kinds with more names of the same ending than `similar` lists; `isMore`: counting stopped at `count`. */
  endings: z.array(z.object({ kind: z.enum(NUMBERED_KINDS), count: z.int(), isMore: z.boolean() })),
})
export type SearchResult = z.infer<typeof searchResult>
