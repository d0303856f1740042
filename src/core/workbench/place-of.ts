import { z } from 'zod'

/** What is said of a file, with the line and the column that it begins with, where it names them. */
export const placed = z.object({
  row: z.int().nullable(),
  column: z.string().nullable(),
  text: z.string(),
})
export type Placed = Readonly<z.infer<typeof placed>>

const PLACE = /^row (\d+)(?:, column "([^"]+)")?(?:: )?/

/** Takes the place off the front of a fault or a warning, as `rules check` words them. */
export function placeOf(said: string): Placed {
  const [front = '', row, column] = PLACE.exec(said) ?? []
  return {
    row: row === undefined ? null : Number(row),
    column: column ?? null,
    text: said.slice(front.length).trim(),
  }
}
