import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The command line as users run it. */
export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

const { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS = '' } = process.env

/**
 * A PATH on which that line finds the Node that runs this, the NODE_OPTIONS that chose this process's rules and texts, and where
 * Node keeps what it compiled, if anywhere.
 */
export const EXECUTABLE_ENV = {
  PATH: [dirname(process.execPath), PATH].join(delimiter),
  NODE_OPTIONS,
  ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}),
}

/** The same options, and a module that is loaded before all others. */
export function preloading(module: string | URL): { readonly NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `${NODE_OPTIONS} --import=${module}` }
}
