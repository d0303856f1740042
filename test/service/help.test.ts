import t from 'tap'
import { command } from './command.ts'

/** Print nothing but their log, which is JSON. */
const WITHOUT_DATA = ['serve', 'migrate']

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

t.test('an unknown command and an unknown option are wrong usage', async (t) => {
  for (const args of [['rule'], ['rules', 'chek'], ['not-told', '--jsno']]) {
    t.match(await command(args, {}), { code: 2, stdout: '', stderr: /^error: /m }, args.join(' '))
  }
})
