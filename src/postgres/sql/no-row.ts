import { z } from 'zod'

/** The row of a statement that returns none. */
export const noRow = z.object({})
