import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import packageJson from '../../package.json' with { type: 'json' }
import { command } from '../process/command.ts'

t.test('the notes of a release are the changelog of its version', async (t) => {
  const notes = execFileSync('make', ['--no-print-directory', 'release-notes'], { encoding: 'utf8' })
  t.match(notes, new RegExp(`^## ${packageJson.version}\\n[^]*\\S`))
})

t.test('the document of a release describes the routes behind tokens', async (t) => {
  const { stdout } = await command(['openapi'], {})
  t.match(JSON.parse(stdout), {
    info: { version: packageJson.version },
    components: { securitySchemes: { token: { scheme: 'bearer' } } },
    paths: { '/log/list': {}, '/preferences/{partyLocator}': {} },
  })
})

t.test('the release workflow calls targets that exist', async (t) => {
  const workflow = readFileSync(new URL('../../.github/workflows/release.yml', import.meta.url), 'utf8')
  const { jobs } = parse(workflow)
  const commands = [...jobs.test.steps, ...jobs.release.steps].map(({ run = '' }) => run).join('\n')
  const targets = [...commands.matchAll(/make (?:--\S+ )*(\S+)/g)].map(([, target]) => target)
  t.strictSame(targets, ['test', 'release-notes'])
  const makefile = readFileSync(new URL('../../Makefile', import.meta.url), 'utf8')
  for (const target of targets) t.match(makefile, new RegExp(`^${target}:`, 'm'))
})

t.test('only a job in which no dependency ran may publish', async (t) => {
  const { permissions, jobs } = parse(
    readFileSync(new URL('../../.github/workflows/release.yml', import.meta.url), 'utf8'),
  )
  t.strictSame(permissions, { contents: 'read' })
  t.match(jobs, { test: { permissions: undefined }, release: { needs: 'test' } })
  const commands = jobs.release.steps.map(({ run = '' }) => run).join('\n')
  t.notMatch(commands, /make (?:--\S+ )*(?!release-notes)\w|npm|node |src\/main\.ts/)
})
