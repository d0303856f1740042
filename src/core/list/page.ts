import { z } from 'zod'

/** One page of a list, as it is shown. `nextCursor` asks for the next one; null on the last one. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() })
}
export type Page<Item> = Readonly<z.infer<ReturnType<typeof pageOf<z.ZodType<Item>>>>>
