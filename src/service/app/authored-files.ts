import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { house } from '#generated/templates.ts'
import { CorrectableError } from '../text/faults.ts'

const HOUSE = process.env.HOUSE ? resolve(process.env.HOUSE) : ''
/** Null only in tests. */
const compiledFrom: string | null = house

export const TEMPLATES = authored('templates')
export const RULE_TABLE = authored('rules/dispatch.csv')
export const PROMISES = authored('rules/promises.csv')
/** The accepted outcome of every situation, and the accepted texts. */
export const OUTCOMES_FILE = authored('rules/outcomes.txt')
/** How many events had which facts. A house may lack it. */
export const TRAFFIC = authored('rules/traffic.csv')
/** Maps the fields of an event to places in its message. */
export const ENVELOPE_MAP = authored('rules/envelope.json')

/** Throws CorrectableError. */
export async function readText(file: string): Promise<string> {
  return (await readBytes(file)).toString()
}

/** Throws CorrectableError; for any file if texts of another folder are compiled in, as after `make rules-check HOUSE=…`. */
export async function readBytes(file: string): Promise<Buffer> {
  if (compiledFrom !== null && compiledFrom !== HOUSE)
    throw new CorrectableError(
      `the compiled texts are those of ${compiledFrom || 'this folder'}: run \`make build${HOUSE && ` HOUSE=${HOUSE}`}\``,
    )
  try {
    return await readFile(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new CorrectableError(
      `${file} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}`,
    )
  }
}

/** The files of the folder `HOUSE`; under the condition `first-rules` those of the tests: see "imports" in package.json. */
function authored(path: string): string {
  if (HOUSE !== '') return resolve(HOUSE, path)
  return fileURLToPath(import.meta.resolve(`#authored/${path}`))
}
