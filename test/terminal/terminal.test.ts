import { spawnSync } from 'node:child_process'
import t from 'tap'
import { workflowCommand } from '../../src/terminal/annotations.ts'
import { confirm } from '../../src/terminal/confirm.ts'
import { note, print, showProgress } from '../../src/terminal/print.ts'
import { worldOf } from '../process/command.ts'
import { EXECUTABLE_ENV, MAIN, preloading } from '../stack/executable.ts'

t.test('an annotation is one line, whatever its text', async (t) => {
  t.equal(
    workflowCommand('error', 'rules/a,b:c.csv', 3, 'row 3: 100 %\n  ::x'),
    '::error file=rules/a%2Cb%3Ac.csv,line=3::row 3: 100 %25%0A  ::x',
  )
  t.equal(workflowCommand('warning', 'a', null, 'b'), '::warning file=a::b')
})

const EMPTY_LINE = '\r\u001b[K'

for (const isTTY of [true, false]) {
  const where = isTTY
    ? 'on a terminal one line replaces the other, not too often'
    : 'elsewhere it is not shown'
  t.test(`progress: ${where}, and output begins on a new line`, async (t) => {
    const written: string[] = []
    let nowMs = 5_000
    t.intercept(performance, 'now', { value: () => nowMs })
    const world = worldOf((_, text) => written.push(text), { isTTY })
    showProgress(world, '1 event')
    showProgress(world, '2 events')
    nowMs += 100
    showProgress(world, '3 events')
    await print(world, 'a line')
    showProgress(world, '4 events')
    note(world, 'the end')
    const shown = (...texts: string[]) =>
      isTTY ? [...texts.map((text) => `${EMPTY_LINE}${text}`), EMPTY_LINE] : []
    t.strictSame(written, [...shown('1 event', '3 events'), 'a line\n', ...shown('4 events'), 'the end\n'])
  })
}

for (const isTTY of [true, false]) {
  const where = isTTY ? 'on a terminal nothing of a line is obeyed' : 'elsewhere a line is written as it is'
  t.test(`output: ${where}`, async (t) => {
    const written: string[] = []
    const subject = 'a\u001b]0;x\u0007\u009b2J\u202e\u{e0001}é\tb'
    const lines = [subject, JSON.stringify({ subject }), 'x,y\r']
    await print(
      worldOf((_, text) => written.push(text), { isTTY }),
      ...lines,
    )
    const all = written.join('')
    const obeyed = ['\u001b', '\u0007', '\u009b', '\u202e', '\u{e0001}']
    t.strictSame(
      obeyed.filter((one) => all.includes(one)),
      isTTY ? [] : obeyed,
    )
    t.strictSame(JSON.parse(written[1] ?? ''), { subject }, 'JSON stays what it was')
    t.equal(written[2], 'x,y\r\n')
    if (isTTY) t.equal(written[0], 'a\\u001b]0;x\\u0007\\u009b2J\\u202e\\udb40\\udc01é\tb\n')
    else
      t.strictSame(
        written,
        lines.map((line) => `${line}\n`),
      )
    const noted: string[] = []
    note(
      worldOf((_, text) => noted.push(text), { isTTY }),
      subject,
    )
    t.equal(noted[0], written[0], 'nor of a note')
  })
}

t.test('a command goes on only if the answer is yes', async (t) => {
  for (const [answer, isYes] of [
    ['y', true],
    [' YES ', true],
    ['', false],
    ['no', false],
    ['yesterday', false],
    ['\u0003', false],
    ['\u0004', false],
  ] as const) {
    let asked = ''
    const world = worldOf(
      (_, text) => {
        asked += text
      },
      { isTTY: true, input: `${answer}\n` },
    )
    t.equal(await confirm(world, 'Sure?', {}), isYes, answer)
    t.equal(world.exitCode, isYes ? 0 : 1, `the exit code after ${JSON.stringify(answer)}`)
    t.match(asked, 'Sure? [y/N] ')
  }
})

/** The limits of a process that the line of main.ts starts, and its number of listeners when the command's modules are loaded. */
function started(command: string, env: Record<string, string> = {}) {
  const code = `
    import { registerHooks } from 'node:module'
    import { getHeapStatistics } from 'node:v8'
    registerHooks({ load: (url, context, nextLoad) => {
      if (/\\/src\\/(.*\\/)?${command}\\.ts$/.test(url)) {
        const { execArgv, env, pid } = process
        const count = (signal) => process.listenerCount(signal)
        process.stdout.write(JSON.stringify({
          pid, execArgv, arenas: env.MALLOC_ARENA_MAX, heapMb: getHeapStatistics().heap_size_limit / 2 ** 20,
          handled: ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'].filter(count),
        }))
        process.exit()
      }
      return nextLoad(url, context)
    } })`
  const preload = preloading(`data:text/javascript,${encodeURIComponent(code)}`)
  const NODE_OPTIONS = [preload.NODE_OPTIONS, env.NODE_OPTIONS ?? ''].join(' ')
  const options = { env: { ...EXECUTABLE_ENV, ...env, NODE_OPTIONS }, encoding: 'utf8' } as const
  const { stdout, stderr, pid } = spawnSync(MAIN, [command], options)
  const said = JSON.parse(stdout) as {
    readonly pid: number
    readonly execArgv: readonly string[]
    readonly arenas?: string
    readonly heapMb: number
    readonly handled: readonly string[]
  }
  return { ...said, isSameProcess: said.pid === pid, stderr }
}

t.test('serve bounds its memory, and handles signals before it loads its modules', async (t) => {
  const { execArgv, arenas, heapMb, handled, isSameProcess, stderr } = started('serve')
  t.strictSame(execArgv, ['--heap-growing-percent=130'])
  t.equal(arenas, '1')
  t.ok(heapMb > 1_000 && heapMb < 1_200, `${heapMb} MB`)
  t.strictSame(handled, ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'])
  t.ok(isSameProcess)
  t.equal(stderr, '')
})

t.test("the operator's own settings are kept", async (t) => {
  const env = { NODE_OPTIONS: '--max_old_space_size=2048', MALLOC_ARENA_MAX: '4' }
  const { arenas, heapMb } = started('serve', env)
  t.equal(arenas, '4')
  t.ok(heapMb > 2_000, `${heapMb} MB`)
})

t.test('other commands have the defaults of Node.js', async (t) => {
  const { execArgv, arenas, handled } = started('log')
  t.strictSame(execArgv, [])
  t.equal(arenas, undefined)
  t.strictSame(handled, [])
})
