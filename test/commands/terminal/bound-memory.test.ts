import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { MAIN } from '../../stack/executable.ts'

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

t.test('what the operator has chosen stays', async (t) => {
  const [young, growing, old] = ALL
  t.strictSame(started(['--max_old_space_size=2048']).options, [young, growing, '--max_old_space_size=2048'])
  t.strictSame(started([], { NODE_OPTIONS: '--max-old-space-size=2048' }).options, [young, growing])
  t.equal(started([], { MALLOC_ARENA_MAX: '4' }).arenas, '4')
  t.strictSame(started([`${old}`, `${growing}`, `${young}`]).options, [old, growing, young])
})

t.test('the head of the program has the same settings', async (t) => {
  const program = readFileSync(MAIN, 'utf8')
  t.ok(program.includes(`exec env MALLOC_ARENA_MAX=1 node ${ALL.join(' ')} "$0"`))
  t.match(program, /asked === 'serve'.*boundMemory\(\)/)
})
