import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { command } from './command.ts'

const TEMPLATES = fileURLToPath(new URL('../../templates/', import.meta.url))
const templates = (...args: string[]) => command(['templates', ...args], {})

/** A copy of the templates with another text for a paid claim. */
function aCopy(t: Test, claimPaid: string): string {
  const folder = join(t.testdir({}), 'templates')
  cpSync(TEMPLATES, folder, { recursive: true })
  writeFileSync(join(folder, 'claim.paid.mustache'), claimPaid)
  return folder
}

t.test('templates check tells faults by file and line, and exits with 1', async (t) => {
  const folder = aCopy(t, 'Subject: Paid\n\n{{locater}}')
  t.match(await templates('check', '--templates', folder), {
    code: 1,
    stdout: '',
    stderr: /^the templates have 1 fault:\n {2}claim\.paid\.mustache:3: "locater" is not a variable/,
  })
  const { code, stdout } = await templates('check', '--json')
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { faults: [], lines: [{ file: 'adjustment.applied.mustache' }] })
})
