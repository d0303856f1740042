import { z } from 'zod'
import { type ListPage, pageSchema } from '../../model/log/log-page.ts'
import { NOT_ONCE } from './fields.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 200

export function describedPageSchema<Item extends z.ZodType>(item: Item) {
  const page = pageSchema(item)
  const { nextCursor } = page.shape
  return page.extend({
    nextCursor: nextCursor.meta({ description: 'The `cursor` of the next page; null on the last one' }),
  })
}

/** The query parameter for the size of a page. */
export const limit = z
  .string(NOT_ONCE)
  .transform((digits) => (/^\d{1,3}$/.test(digits) ? Number(digits) : 0))
  .refine((count) => count >= 1 && count <= LIMIT_MAX, `must be a whole number from 1 to ${LIMIT_MAX}`)
  .default(LIMIT_DEFAULT)
  .meta({
    type: 'integer',
    minimum: 1,
    maximum: LIMIT_MAX,
    default: LIMIT_DEFAULT,
    description: 'Items of a page',
  })

/** No cursor of the service is longer: a position has at most 255 characters, each at most six as JSON. */
const CURSOR_LENGTH_MAX = 4_096

/**
 * Cursors of one list: the end of a page as opaque text, which a client sends back to get the next page. `kind` separates the
 * cursors of different lists. `position` validates the JSON, and refuses positions at which no page can end.
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
    /** The page as sent to the client. */
    toPage: <Item>({ items, next }: ListPage<Item, Position>) => ({
      items: [...items],
      nextCursor: next === null ? null : encode(next),
    }),
    parameter: z
      .string(NOT_ONCE)
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
