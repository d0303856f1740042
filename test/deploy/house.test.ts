import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RECIPE = readFileSync(join(ROOT, 'src/deploy/Dockerfile.house'), 'utf8')
const dir = t.testdir({})

/** The files of the product's image, as another version may have them. */
function product(version: string, change: (app: string) => void): string {
  const app = join(dir, `product-${version}`)
  for (const part of ['src', 'db', 'rules', 'templates', 'package.json'])
    cpSync(join(ROOT, part), join(app, part), { recursive: true, filter: (path) => !/\/deploy$/.test(path) })
  symlinkSync(join(ROOT, 'node_modules'), join(app, 'node_modules'))
  const edit = (text: string) => text.replace(/"version": ".*?"/, `"version": "${version}"`)
  writeFileSync(join(app, 'package.json'), edit(readFileSync(join(app, 'package.json'), 'utf8')))
  change(app)
  return app
}

/** Takes the steps of the recipe in an image of this product. Returns its folder, what the steps said, and whether all succeeded. */
function build(name: string, from: string) {
  const app = join(dir, name)
  cpSync(from, app, { recursive: true, verbatimSymlinks: true })
  let said = ''
  for (const line of RECIPE.split('\n')) {
    const [step = '', ...rest] = line.split(' ')
    if (step === 'COPY') cpSync(join(house, rest[0] ?? ''), join(app, rest[1] ?? ''), { recursive: true })
    if (step !== 'RUN') continue
    const ran = spawnSync('sh', ['-c', rest.join(' ')], { cwd: app, env: ENV, encoding: 'utf8' })
    said += ran.stdout + ran.stderr
    if (ran.status !== 0) return { app, said, isBuilt: false }
  }
  return { app, said, isBuilt: true }
}

const ENV = { PATH: process.env.PATH }
const run = (app: string, ...args: string[]) =>
  execFileSync(process.execPath, [join(app, 'src/main.ts'), ...args], {
    cwd: app,
    env: ENV,
    encoding: 'utf8',
  })

/** A company's own folder: fewer texts, another one for a type, another map. */
const house = join(dir, 'house')
for (const part of ['rules', 'templates'])
  cpSync(join(ROOT, 'test/first', part), join(house, part), { recursive: true })
rmSync(join(house, 'templates/invoice.paid.mustache'))
writeFileSync(
  join(house, 'templates/claim.paid.mustache'),
  'Subject: Ours\n\nOur claim {{locator}} is paid.\n',
)
const map = { partyLocator: '/data/member', locator: '/data/claim', reason: '/data/why' }
writeFileSync(join(house, 'rules/envelope.json'), JSON.stringify(map))
const outcomes = join(house, 'rules/outcomes.txt')

t.test('an image with own rules and texts is upgraded and rolled back by its version alone', async (t) => {
  const first = product('1.0.0', () => {})
  const next = product('1.1.0', (app) => {
    writeFileSync(join(app, 'templates/claim.reopened.mustache'), 'Subject: New\n\nA text of the product.\n')
    writeFileSync(join(app, 'rules/dispatch.csv'), 'no longer a table')
  })
  t.match(RECIPE, `ARG PRODUCT=notifications-service:${packageJson.version}\n`)
  const draft = build('draft', first)
  t.match(draft, { isBuilt: false, said: /^> .*Our claim/m }, 'outcomes that nobody accepted end it')
  const accepted = run(draft.app, 'rules', 'outcomes')
  writeFileSync(join(draft.app, 'rules/outcomes.txt'), accepted.replaceAll('prefers email', 'prefers EMAIL'))
  const args = [join(draft.app, 'src/main.ts'), 'rules', 'outcomes']
  const { stderr } = spawnSync(process.execPath, args, { cwd: draft.app, env: ENV, encoding: 'utf8' })
  t.match(stderr, /words of an earlier version: commit what "rules outcomes --reworded" prints/)
  t.equal(run(draft.app, 'rules', 'outcomes', '--reworded'), accepted)
  writeFileSync(outcomes, accepted)

  const images = [
    ['one', first, '1.0.0'],
    ['two', next, '1.1.0'],
    ['back', first, '1.0.0'],
  ] as const
  for (const [name, from, version] of images) {
    const { app, said, isBuilt } = build(name, from)
    t.ok(isBuilt, said)
    t.match(said, /20 compiled.*partyLocator from \/data\/member/s)
    t.match(run(app, '--version'), `notifications-service ${version},`)
    t.match(
      run(app, 'rules', 'try', '--event-type', 'claim.paid', '--locator', 'CLM-7'),
      'Our claim CLM-7 is paid.',
    )
  }
})
