import { createHash } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type TableName = 'first' | 'second'

const FIRST_DIR = fileURLToPath(new URL('../first/', import.meta.url))
const FIRST = readFileSync(join(FIRST_DIR, 'rules/dispatch.csv'), 'utf8')
const HEADINGS = (FIRST.split('\n', 1)[0] ?? '').split(',')
/** The addresses that the first table asks for. */
export const ADDRESSES = HEADINGS.flatMap((heading) => /^(.+) on file$/.exec(heading)?.[1] ?? [])
const NO_PHONE_EMAIL: Readonly<Record<string, string>> = {
  ...{ rule: 'no-phone-email', party: 'found', 'preferred channel': 'SMS', 'email on file': 'yes' },
  ...{ 'phone on file': 'no', outcome: 'SEND', 'send by': 'EMAIL', because: 'We have an email address.' },
}
/** Members who prefer text messages and have no phone number are told by email. */
const SECOND = FIRST.replace(
  /^no-phone,/m,
  `${HEADINGS.map((heading) => NO_PHONE_EMAIL[heading] ?? '').join(',')}\n$&`,
)

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const NAMES = new Map<string, TableName>([
  [sha256(FIRST), 'first'],
  [sha256(SECOND), 'second'],
])

/** Undefined for a revision that nobody rolled out. */
export function tableOf(revision: string): TableName | undefined {
  return NAMES.get(revision)
}

/** Copies the rules and texts of the tests to a folder, with the second rule table. */
export function writeSecondHouse(dir: string): void {
  cpSync(FIRST_DIR, dir, { recursive: true })
  writeFileSync(join(dir, 'rules/dispatch.csv'), SECOND)
}
