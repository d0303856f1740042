import { z } from 'zod'
import { grid } from './sheet.ts'

const file = z.object({
  name: z.string(),
  grid,
  /** What can be written in a column, besides nothing; columns that take any text are absent. */
  choices: z.record(z.string(), z.array(z.string())),
  /** Where somebody can edit the file and propose the change; null: not known. */
  editUrl: z.string().nullable(),
})

/** What the workbench begins with: the files in force. */
export const workbenchStart = z.object({
  revision: z.string(),
  table: file,
  promises: file,
  /** Those that there is a template for. */
  eventTypes: z.array(z.string()),
})
export type WorkbenchStart = Readonly<z.infer<typeof workbenchStart>>
