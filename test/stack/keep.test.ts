import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Keeper, type KeepOptions, keep } from './keep.ts'
import { isRunning } from './processes.ts'
import { until } from './until.ts'

const OPTIONS: KeepOptions = {
  name: 'lifecycle',
  stopSignal: 'SIGTERM',
  abandonSignal: 'SIGTERM',
}
const SLEEP = { file: 'sh', args: ['-c', 'echo ready; exec sleep 60'] }
const STUBBORN = {
  file: 'sh',
  args: ['-c', 'trap "" TERM; echo ready; while :; do sleep 1; done'],
}

interface Kept {
  pid: number
  dir: string
}

/** A process that keeps a server, and whatever `ending` makes of it. */
async function parentOf(command: typeof SLEEP, ending = ''): Promise<Kept & { parent: number }> {
  const script = `
    import { keep } from ${JSON.stringify(new URL('./keep.ts', import.meta.url).href)}
    const keeper = await keep(${JSON.stringify(OPTIONS)})
    await keeper.start(${JSON.stringify(command)}, async () => (await keeper.logTail()).includes('ready'), 5000)
    process.stdout.write(JSON.stringify({ pid: keeper.pid, dir: keeper.dir }), () => { ${ending} })`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [text] = await once(parent.stdout, 'data')
  return { ...(JSON.parse(String(text)) as Kept), parent: parent.pid ?? 0 }
}

async function isReady(keeper: Keeper): Promise<boolean> {
  return (await keeper.logTail()).includes('ready')
}

async function nothingIsLeft(t: Test, { pid, dir }: Kept): Promise<void> {
  await until(() => !isRunning(pid) && !existsSync(dir), {
    what: `process ${pid} and ${dir} to be gone`,
  })
  t.pass('neither process nor directory is left')
}

t.test('whatever ends the parent, the server and its directory go too', async (t) => {
  t.jobs = 2
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const) {
    t.test(`${signal} to its process group`, async (t) => {
      const kept = await parentOf(SLEEP)
      process.kill(-kept.parent, signal)
      await nothingIsLeft(t, kept)
    })
  }
  t.test('an uncaught exception', async (t) =>
    nothingIsLeft(t, await parentOf(SLEEP, 'throw new Error("crash")')),
  )
  t.test('process.exit', async (t) => nothingIsLeft(t, await parentOf(SLEEP, 'process.exit()')))
  t.test('a server that takes no notice of its signal', async (t) => {
    const kept = await parentOf(STUBBORN)
    process.kill(-kept.parent, 'SIGKILL')
    await nothingIsLeft(t, kept)
  })
})

t.test('the keeper outlives neither a parent that is done nor one that stopped its server', async (t) => {
  const kept = await parentOf(SLEEP, 'keeper.stop()')
  await nothingIsLeft(t, kept)
  await until(() => !isRunning(kept.parent), {
    what: 'the parent to end by itself',
  })
  t.pass('an idle keeper does not hold its parent open')
})

t.test('a stopped server starts again in the same directory, which close removes', async (t) => {
  const keeper = await keep(OPTIONS)
  await keeper.start(SLEEP, () => isReady(keeper), 1_000)
  const first = keeper.pid ?? 0
  await keeper.stop()
  t.notOk(isRunning(first))
  t.equal(keeper.pid, undefined)
  t.ok(existsSync(keeper.dir))
  await keeper.start(SLEEP, () => isReady(keeper), 1_000)
  const second = keeper.pid ?? 0
  await keeper.close()
  t.notOk(isRunning(second))
  t.notOk(existsSync(keeper.dir))
  await t.rejects(
    keeper.start(SLEEP, () => isReady(keeper), 1_000),
    { message: 'lifecycle is closed' },
  )
  await keeper.close()
})

t.test('a server that does not stop in time is killed', async (t) => {
  const keeper = await keep({ ...OPTIONS, stopTimeoutMs: 100 })
  t.teardown(() => keeper.close())
  t.capture(console, 'error')
  await keeper.start(STUBBORN, () => isReady(keeper), 1_000)
  const pid = keeper.pid ?? 0
  await keeper.stop()
  t.notOk(isRunning(pid))
})

t.test('a directory that was named is kept', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'kept-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const keeper = await keep({ ...OPTIONS, dir })
  t.equal(keeper.dir, dir)
  await keeper.close()
  t.ok(existsSync(dir))
})

t.test('a failed start says what the server wrote and leaves no process', async (t) => {
  const keeper = await keep(OPTIONS)
  t.teardown(() => keeper.close())
  const failing = {
    file: 'sh',
    args: ['-c', 'echo the disk is full >&2; exit 3'],
  }
  await t.rejects(
    keeper.start(failing, async () => false, 5_000),
    /lifecycle: it ended during its start\n.*the disk is full/s,
  )
  await t.rejects(keeper.run(failing), /lifecycle: sh ended with 3\n.*the disk is full/s)
  await t.rejects(
    keeper.start({ file: 'no-such-program', args: [] }, () => isReady(keeper), 1_000),
    /did not start: .*ENOENT/,
  )
  await t.rejects(
    keeper.start(SLEEP, async () => false, 100),
    /waited 100 ms for lifecycle to be ready/,
  )
  t.equal(keeper.pid, undefined)
})
