import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The command line as users run it. */
export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

const { PATH, NODE_COMPILE_CACHE } = process.env

/** A PATH on which that line finds the Node that runs this, and where it keeps what it compiled, if anywhere. */
export const EXECUTABLE_ENV = {
  PATH: [dirname(process.execPath), PATH].join(delimiter),
  ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}),
}
