import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readTemplateFiles } from '../../src/authoring/templates/template-files.ts'
import { templates as built } from '../../src/generated/templates.ts'
import { sha256 } from '../service/build.ts'

const program = join(import.meta.dirname, '../../src/build/compile-templates.ts')
const templates = join(import.meta.dirname, '../first/templates')

function run(folder: string, target: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, folder, target], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  return { status, stdout, stderr }
}

t.test('the build writes the module, and keeps it while nothing changes', async (t) => {
  const folder = t.testdir()
  const source = join(folder, 'templates')
  const target = join(folder, 'generated/templates.ts')
  cpSync(templates, source, { recursive: true })
  writeFileSync(join(source, '.DS_Store'), 'left by a file manager')

  const written = { status: 0, stdout: 'templates: 21 compiled, module written\n', stderr: '' }
  t.strictSame(run(source, target), written)

  utimesSync(target, 1, 1)
  const unchanged = { status: 0, stdout: 'templates: 21 compiled, no change\n', stderr: '' }
  t.strictSame(run(source, target), unchanged)
  t.equal(statSync(target).mtimeMs, 1_000)

  writeFileSync(join(source, 'claim.paid.mustache'), 'Subject: Paid\n\nClaim {{locator}} is paid.\n')
  t.strictSame(run(source, target), written)
  t.match(readFileSync(target, 'utf8'), 'Claim {{locator}} is paid.')
})

t.test(
  'the module of `make build` contains each template, with its parts, under the hash of its text',
  async (t) => {
    const files = readTemplateFiles(join(import.meta.dirname, '../../templates'))
    const greeting = files.find(({ name }) => name === 'parts/greeting.mustache')?.text.trim() ?? ''
    const expected = files
      .filter(({ name }) => !name.startsWith('parts/'))
      .map(
        ({ name, text }) =>
          [name.replace('.mustache', ''), text.replace('{{> greeting}}', greeting)] as const,
      )
      .map(([name, text]) => [name, sha256(text), text])
    const found = [...built.values()]
    t.strictSame(found.map(({ name, revision, source }) => [name, revision, source]).sort(), expected.sort())
  },
)

t.test('a module that cannot be written is named, with the remedy', async (t) => {
  const target = '/proc/templates.ts'
  const { status, stderr } = run(templates, target)
  t.equal(status, 1)
  t.match(stderr, /^\/.*templates\.ts cannot be written \(E\w+\): work in a checkout that belongs to you\n$/)
})

t.test('with faults the build names each and writes nothing', async (t) => {
  const folder = t.testdir()
  const source = join(folder, 'templates')
  const target = join(folder, 'templates.ts')
  cpSync(templates, source, { recursive: true })
  rmSync(join(source, 'generic.mustache'))
  writeFileSync(
    join(source, 'claim.paid.mustache'),
    Buffer.from('Subject: Paid\n\n{{locator}}\n\xfc', 'latin1'),
  )

  t.strictSame(run(source, target), {
    status: 1,
    stdout: '',
    stderr: `the templates have 2 faults:
  claim.paid.mustache:4: this is not UTF-8 text: save the file as UTF-8
  generic.mustache: the template for every other event type is missing: add this file
`,
  })
  t.throws(() => statSync(target), { code: 'ENOENT' })
})
