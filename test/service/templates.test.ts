import { execFileSync } from 'node:child_process'
import { cpSync, rmSync, writeFileSync } from 'node:fs'
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

t.test('templates preview prints one page, or what differs from a folder or a revision', async (t) => {
  const folder = aCopy(t, 'Subject: Paid\n\nYour claim {{locator}} is paid.\n')
  t.match(await templates('preview', '--templates', folder), {
    code: 0,
    stdout: /^# What messages say\n.*\nYour claim CLM-2026-00056 is paid\.\n/s,
  })
  t.match(await templates('preview', '--html'), { code: 0, stdout: /^<!doctype html>/ })
  const changed =
    /^### Texts: 1 event type with another text\n\n#### claim\.paid\n\nBefore:.*has been paid.*After:.*is paid\./s
  t.match(await templates('preview', '--templates', folder, '--against', TEMPLATES), {
    code: 0,
    stdout: changed,
  })

  rmSync(folder, { recursive: true })
  cpSync(TEMPLATES, folder, { recursive: true })
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=n', '-c', 'user.email=e@example.org', ...args])
  git('init', '--quiet', '--initial-branch=trunk')
  git('add', '.')
  git('commit', '--quiet', '-m', 'texts')
  t.match(await templates('preview', '--templates', folder, '--against', 'trunk'), {
    code: 0,
    stdout: 'No text changes.\n',
  })
  writeFileSync(join(folder, 'claim.paid.mustache'), 'Subject: Paid\n\nYour claim {{locator}} is paid.\n')
  t.match(await templates('preview', '--templates', folder, '--against', 'trunk'), {
    code: 0,
    stdout: changed,
  })
  t.match(await templates('preview', '--templates', folder, '--against', 'trnuk'), {
    code: 1,
    stderr: '"trnuk" is neither a folder nor a git revision: name one that is\n',
  })
})
