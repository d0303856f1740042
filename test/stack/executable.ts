import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The command line as users run it: its first line says with which flags. */
export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** A PATH on which that line finds the Node that runs this. */
export const EXECUTABLE_PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
