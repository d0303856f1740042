import { z } from 'zod'

/** We make none longer: a position has at most 255 characters, each at most six as JSON. */
const CURSOR_LENGTH_MAX = 4_096

/**
 * Cursors of one list: where a page ended, as opaque text that a client sends back to get the next page. `kind` keeps
 * the cursors of different lists apart; `position` validates the JSON, and refuses where no page can have ended.
 */
export function cursors<Position>(kind: string, position: z.ZodType<Position>) {
  const encode = (value: Position) =>
    Buffer.from(`${kind}${JSON.stringify(position.parse(value))}`).toString('base64url')
  const decode = (cursor: string): Position | null => {
    const text = Buffer.from(cursor.slice(0, CURSOR_LENGTH_MAX), 'base64url').toString()
    const value = text.startsWith(kind) ? position.safeParse(parsed(text.slice(kind.length))).data : undefined
    return value !== undefined && encode(value) === cursor ? value : null
  }
  return {
    encode,
    /** The query parameter. */
    parameter: z
      .string('must be given once')
      .transform(decode)
      .refine((value) => value !== null, 'must be the nextCursor of an earlier response')
      .meta({
        description: 'The nextCursor of an earlier response, unchanged',
        pattern: '^[A-Za-z0-9_-]+$',
      })
      .optional(),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
