import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { COMMANDS } from '../../src/commands.ts'
import { SINCE_WORDS } from '../../src/service/time/duration.ts'
import { MAIN } from '../stack/executable.ts'
import { command, spawned } from './command.ts'

/** Print nothing but their log, which is JSON. */
const WITHOUT_DATA = ['serve', 'migrate', 'openapi', 'export']

const RULE_TABLE = join(import.meta.dirname, '../first/rules/dispatch.csv')
const NOWHERE = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }

const top = await spawned(['--help'], {})
/** The help of each command and of all below it; in one process, since each takes a third of a second. */
const all: [path: string[], help: string][] = [[[], top.stdout]]
for (const load of Object.values(COMMANDS))
  addHelp(new Command('notifications-service').addCommand((await load())(process)).commands[0] as Command, [])

function addHelp(command: Command, above: readonly string[]): void {
  const path = [...above, command.name()]
  let help = ''
  const writeOut = (text: string) => {
    help += text
  }
  command.configureOutput({ writeOut }).outputHelp()
  all.push([path, help])
  for (const below of command.commands) addHelp(below, path)
}

t.test('the program lists each command, and prints the help of one', async (t) => {
  const named = all.flatMap(([[name = '', ...more]]) => (name === '' || more.length > 0 ? [] : [name]))
  const listed = top.stdout.split(/^Commands:$/m)[1]?.match(/^ {2}\w[\w-]*/gm) ?? []
  t.strictSame({ code: top.code, stderr: top.stderr }, { code: 0, stderr: '' })
  t.strictSame(
    listed
      .map((line) => line.trim())
      .filter((name) => name !== 'help')
      .sort(),
    named.sort(),
  )
  const [, help] = all.find(([path]) => path.join(' ') === 'rules diff') ?? []
  t.strictSame(await spawned(['rules', 'diff', '--help'], {}), { code: 0, stdout: help, stderr: '' })
})

t.test('the README names each command that asks first', async (t) => {
  const readme = readFileSync(join(import.meta.dirname, '../../src/operations/README.md'), 'utf8')
  const [named = ''] = /^- .* ask first/m.exec(readme) ?? []
  for (const [path] of all.filter(([, help]) => /^ {2}--yes /m.test(help)))
    t.ok(
      [path.join(' '), path[0]].some((name) => named.includes(`\`${name}\``)),
      path.join(' '),
    )
})

for (const [path, help] of all) {
  const name = ['notifications-service', ...path].join(' ')
  const isGroup = /^Commands:$/m.test(help) && path.length > 0
  t.test(`${name} --help has an example, exit codes and options`, async (t) => {
    t.match(help, new RegExp(`^Examples?:\\n(  \\$ .*\\n)*  \\$ (\\S+=\\S+ )*${name}`, 'm'))
    if (isGroup) return
    t.match(help, /^(.*\. )?Exit codes: 0 [^.]+, 1 [^.]+, 2 wrong usage\./m)
    if (/^ {2}--yes /m.test(help)) t.match(help, /, 1 declined(,| or) /)
    if (path.length > 0 && !WITHOUT_DATA.includes(name.split(' ')[1] ?? '')) t.match(help, /^ {2}--json /m)
  })
}

t.test('all help texts describe times in the same words, and defaults as users write them', async (t) => {
  const words = (help: string) => help.replaceAll(/\s+/g, ' ')
  const told = all.filter(([, help]) => /--(since|older-than) </.test(help))
  t.ok(told.length >= 5)
  for (const [path, help] of told) {
    t.match(words(help), SINCE_WORDS, path.join(' '))
    t.notMatch(words(help), /\(default: (\d{4,}|"?\d{4}-)/, path.join(' '))
  }
  for (const [path, help] of all) t.notMatch(words(help), /\(default: (\[|"?\/)/, path.join(' '))
})

t.test('for an unknown command, subcommand or option the nearest is named', async (t) => {
  const cases = [
    ['serv', /unknown command 'serv'\n\(Did you mean serve\?\)/, spawned],
    ['--verson', /unknown option '--verson'\n\(Did you mean --version\?\)/, spawned],
    ['rules chek', /unknown command 'chek'\n\(Did you mean check\?\)/, command],
    ['log --rulee x', /unknown option '--rulee'\n\(Did you mean --rule\?\)/, command],
    ['log --member', /argument missing/, command],
    ['log party-1 party-2', /too many arguments/, command],
    [
      'log --status fialed',
      /'fialed' is invalid\. Write SENT, FAILED, SKIPPED; did you mean "FAILED"\?/,
      command,
    ],
    ['log --limit 0', /'0' is invalid\. It must be a whole number above 0\./, command],
  ] as const
  for (const [line, stderr, run] of cases) {
    const result = await run(line.split(' '), NOWHERE)
    t.match(result, { code: 2, stdout: '', stderr }, line)
    t.match(
      result.stderr,
      /^(.*\n){1,2}For example: notifications-service .*\n$/,
      'three lines, and not the whole help',
    )
  }
})

t.test('--version prints the version, the commit if known, and that of Node.js', async (t) => {
  const { name, version } = packageJson
  const stdout = `${name} ${version} (commit c0ffee0), Node.js ${process.versions.node}\n`
  t.match(await spawned(['-V'], { GIT_COMMIT: 'c0ffee0' }), { code: 0, stdout })
})

t.test('an older Node.js is named, with the remedy', async (t) => {
  const folder = t.testdir()
  writeFileSync(join(folder, 'node'), '#!/bin/sh\necho v23.11.0\n')
  chmodSync(join(folder, 'node'), 0o755)
  const env = { PATH: `${folder}:/usr/bin:/bin` }
  t.match(spawnSync(MAIN, ['serve'], { encoding: 'utf8', env }), {
    status: 1,
    stdout: '',
    stderr: /^Node\.js 24 or newer is required, and PATH has: v23\.11\.0\. Run make install, .*\n$/,
  })
  t.match(readFileSync(join(MAIN, '../launch.sh'), 'utf8'), ' v2[4-9].* ')
  t.equal(packageJson.engines.node, '>=24', 'both say the same')
})

t.test('all output goes through a pipe, however long it is', async (t) => {
  const folder = t.testdir()
  const faulty = join(folder, 'faulty.csv')
  const rows = Array.from({ length: 20_000 }, (_, row) => `rule-${row},nothing`)
  writeFileSync(faulty, [readFileSync(RULE_TABLE, 'utf8').split('\n')[0], ...rows, ''].join('\n'))
  const checked = await spawned(['rules', 'check', '--table', faulty, '--json'], {})
  t.equal(checked.code, 1)
  t.ok(checked.stdout.length > 1_000_000)
  t.match(JSON.parse(checked.stdout), [{ faults: { length: 20_000 } }, {}, {}])
})

t.test('a reader that closes its pipe ends a command without an error text', async (t) => {
  const line = `"${process.execPath}" "${MAIN}" rules outcomes --json | head -c 1`
  const { stdout, stderr } = spawnSync('sh', ['-c', line], { encoding: 'utf8' })
  t.strictSame({ stdout, stderr }, { stdout: '{', stderr: '' })
})

/** Each line a command line that no command can be made of. */
const WRONG = `
rules
rules diff
rules try
rules check --tabel x
rules diff --against x --tabel y
log --since 2026-02-30
log --since soon
rejected list --since 2026-02-30
log --since 2026-02-30T12:00:00Z
prune --older-than 2025-02-29
log --csv --json
log --rules x
erase
erase --party ..
erase --party=
prune
prune --older-than ever
prune --older-than 1h
prune --older-than 400
audit --topic=
prune --older-than 99999d
rejected dismiss 7 --all --because x --yes
rejected redrive 7 --topic x --because x --yes
retry --since 3d --because x --yes --event-type=
retry --since 3d --because x --yes --rule=
retry --since 3d --because x --yes --reason=
replay
replay --verify --rebuild
checkpoints set
checkpoints set --to soon --because x
checkpoints set --to 5 --topic x --because x
checkpoints set --to latest --partition 1 --because x
checkpoints set --to latest
`

t.test('wrong usage is refused, and only its reason is printed', async (t) => {
  for (const line of WRONG.trim().split('\n')) {
    const { code, stdout, stderr } = await command(line.split(' '), NOWHERE)
    t.strictSame({ code, stdout }, { code: 2, stdout: '' }, line)
    t.not(stderr, '')
  }
})
