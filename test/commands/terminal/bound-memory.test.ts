import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startService } from '../../stack/service.ts'

const module = fileURLToPath(new URL('../../../src/commands/terminal/bound-memory.ts', import.meta.url))
const CODE = `
  import { boundMemory } from ${JSON.stringify(module)}
  boundMemory()
  const { pid, execArgv, argv, env } = process
  const options = execArgv.filter((option) => /^--(max|heap)/.test(option))
  console.log(JSON.stringify({ pid, options, args: argv.slice(1), arenas: env.MALLOC_ARENA_MAX }))`

function started(options: string[], env: Record<string, string> = {}) {
  const args = [...options, '--input-type=module', '--eval', CODE, '--', 'serve', '--x y']
  const { pid, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  const said = JSON.parse(stdout) as Record<'options' | 'args' | 'arenas' | 'pid', unknown>
  return { ...said, isSameProcess: said.pid === pid, stderr }
}

const ALL = ['--max-semi-space-size=16', '--heap-growing-percent=130', '--max-old-space-size=1024']

t.test('a bare `node` starts again in the same process, with a bound on its memory', async (t) => {
  const { options, args, arenas, isSameProcess, stderr } = started([])
  t.strictSame(options, ALL)
  t.strictSame(args, ['serve', '--x y'])
  t.equal(arenas, '1')
  t.ok(isSameProcess)
  t.equal(stderr, '')
})

t.test("the operator's own settings are kept", async (t) => {
  const [young, growing, old] = ALL
  t.strictSame(started(['--max_old_space_size=2048']).options, [young, growing, '--max_old_space_size=2048'])
  for (const chosen of ['--max-old-space-size=2048', '"--max-old-space-size=2048"'])
    t.strictSame(started([], { NODE_OPTIONS: chosen }).options, [young, growing])
  t.equal(started([], { MALLOC_ARENA_MAX: '4' }).arenas, '4')
  t.strictSame(started([`${old}`, `${growing}`, `${young}`]).options, [old, growing, young])
})

const SKIP = process.platform !== 'linux' && 'the command line of a process is read from /proc'

t.test('serve is bound as users start it', { skip: SKIP }, async (t) => {
  const service = await startService({
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    MQ_BROKERS: '127.0.0.1:1',
    POLICY_ADMIN_URL: 'http://127.0.0.1:1',
  })
  const args = (await readFile(`/proc/${service.pid}/cmdline`, 'utf8')).split('\0')
  t.strictSame(args.slice(1, 4), ALL)
  t.equal(await service.stop(), 0)
})
