import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { rowIn, workflowCommand } from '../../../src/commands/terminal/annotations.ts'
import { note, print, showProgress } from '../../../src/commands/terminal/print.ts'
import { startService } from '../../stack/service.ts'

t.test('an annotation is one line, whatever its text', async (t) => {
  t.equal(
    workflowCommand('error', 'rules/a,b:c.csv', 3, 'row 3: 100 %\n  ::x'),
    '::error file=rules/a%2Cb%3Ac.csv,line=3::row 3: 100 %25%0A  ::x',
  )
  t.equal(workflowCommand('warning', 'a', null, 'b'), '::warning file=a::b')
})

t.test('a sentence that begins with a row is shown at its line', async (t) => {
  t.equal(rowIn('row 12, column "party": …'), 12)
  t.equal(rowIn('no rule covers: row 3'), null)
})

const EMPTY_LINE = '\r\u001b[K'

for (const isTTY of [true, false]) {
  const where = isTTY
    ? 'on a terminal one line replaces the other, not too often'
    : 'elsewhere it is not shown'
  t.test(`progress: ${where}, and output begins on a new line`, async (t) => {
    const written: unknown[] = []
    let nowMs = 5_000
    t.intercept(performance, 'now', { value: () => nowMs })
    t.intercept(process.stderr, 'isTTY', { value: isTTY })
    for (const stream of [process.stdout, process.stderr])
      t.intercept(stream, 'write', { value: (text: string) => written.push(text) > 0 })
    showProgress('1 event')
    showProgress('2 events')
    nowMs += 100
    showProgress('3 events')
    await print('a line')
    showProgress('4 events')
    note('the end')
    const shown = (...texts: string[]) =>
      isTTY ? [...texts.map((text) => `${EMPTY_LINE}${text}`), EMPTY_LINE] : []
    t.same(written, [...shown('1 event', '3 events'), 'a line\n', ...shown('4 events'), 'the end\n'])
  })
}

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
