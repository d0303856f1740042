import t from 'tap'
import { command } from './command.ts'

/** Print nothing but their log, which is JSON. */
const WITHOUT_DATA = ['serve', 'migrate']

const NOWHERE = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }

/** All that `--help` names, from the top down. */
async function helpTexts(path: readonly string[] = []): Promise<[string[], string][]> {
  const { code, stdout, stderr } = await command([...path, '--help'], {})
  t.same({ code, stderr }, { code: 0, stderr: '' }, path.join(' '))
  const listed = stdout.split(/^Commands:$/m)[1]?.match(/^ {2}\w[\w-]*/gm) ?? []
  const names = listed.map((line) => line.trim()).filter((name) => name !== 'help')
  const below = await Promise.all(names.map((name) => helpTexts([...path, name])))
  return [[[...path], stdout], ...below.flat()]
}

const all = await helpTexts()

t.test('every command is found', async (t) => {
  const paths = all.map(([path]) => path.join(' '))
  for (const path of ['', 'serve', 'erase', 'prune', 'not-told', 'rules diff', 'rejected redrive']) {
    t.ok(paths.includes(path), path)
  }
})

for (const [path, help] of all) {
  const name = ['notifications-service', ...path].join(' ')
  const isGroup = /^Commands:$/m.test(help) && path.length > 0
  t.test(`${name} --help has an example, exit codes and options`, async (t) => {
    t.match(help, new RegExp(`^Examples?:\\n(  \\$ .*\\n)*  \\$ (\\S+=\\S+ )*${name}`, 'm'))
    if (isGroup) return
    t.match(help, /^(.*\. )?Exit codes: 0 [^.]+, 1 [^.]+, 2 wrong usage\./m)
    if (path.length > 0 && !WITHOUT_DATA.includes(name.split(' ')[1] ?? '')) t.match(help, /^ {2}--json /m)
  })
}

/** Each line a command line that no command can be made of. */
const WRONG = `
rule
rules
rules chek
rules diff
rules check --tabel x
rules diff --against x --fail-on y
not-told --jsno
not-told --since 2026-02-30
not-told --since soon
not-told --csv --json
not-told --rules x
erase
erase --party ..
erase --party=
erase --party x --what
prune
prune --older-than ever
prune --older-than 99999d
replay
replay --verify --rebuild
replay --verfy
`

t.test('wrong usage ends with 2, and prints nothing but why', async (t) => {
  for (const line of WRONG.trim().split('\n')) {
    const { code, stdout, stderr } = await command(line.split(' '), NOWHERE)
    t.match({ code, stdout }, { code: 2, stdout: '' }, line)
    t.not(stderr, '')
  }
})
