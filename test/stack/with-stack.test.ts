import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { descendants, isRunning } from './processes.ts'
import { until } from './until.ts'

const WITH_STACK = fileURLToPath(new URL('./with-stack.ts', import.meta.url))
const EXTERNAL = { DATABASE_URL: 'postgres://example/db', MQ_BROKERS: 'example:9092' }
const LOCAL = { DATABASE_URL: '', MQ_BROKERS: '' }

function run(args: string[], env: Record<string, string>) {
  return spawnSync(process.execPath, [WITH_STACK, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
}

t.test('runs the command with its arguments and ends with its exit code', async (t) => {
  const { status, stdout } = run(['--', 'sh', '-c', 'echo "$1"; exit 7', 'sh', 'a b'], EXTERNAL)
  t.equal(stdout, 'a b\n')
  t.equal(status, 7)
  t.equal(run(['--', 'sh', '-c', 'kill -TERM $$'], EXTERNAL).status, 128 + 15)
})

t.test('servers named in the environment win, and none is started', async (t) => {
  const { stdout, stderr } = run(['--', 'sh', '-c', 'echo $DATABASE_URL $MQ_BROKERS $KAFKA_KIND'], EXTERNAL)
  t.equal(stdout, 'postgres://example/db example:9092 external\n')
  t.match(stderr, 'stack: PostgreSQL as DATABASE_URL says, Kafka as MQ_BROKERS says')
})

t.test('names what is wrong with a command that cannot be run', async (t) => {
  const missing = run(['--', 'no-such-program'], EXTERNAL)
  t.equal(missing.status, 127)
  t.match(missing.stderr, 'no-such-program did not start')
  const none = run(['--'], EXTERNAL)
  t.equal(none.status, 2)
  t.match(none.stderr, 'usage:')
})

/** Runs, until it is interrupted, a command that then takes a moment to end with exit code 3. */
async function startedStack(
  t: Test,
  env: Record<string, string>,
): Promise<{ stack: ChildProcess; pids: number[]; words: string }> {
  const script = `trap "sleep 0.2; echo tidied up; exit 3" INT TERM
    echo "$DATABASE_URL $MQ_BROKERS $KAFKA_KIND"; while :; do sleep 0.1; done`
  const stack = spawn(process.execPath, [WITH_STACK, '--', 'sh', '-c', script], {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => spawnSync('kill', ['-KILL', '--', `-${stack.pid}`]))
  const [words] = await once(stack.stdout as NodeJS.ReadableStream, 'data')
  return { stack, pids: descendants(stack.pid ?? 0), words: String(words) }
}

async function endsInOrder(t: Test, stack: ChildProcess, interrupt: (pid: number) => void): Promise<void> {
  const output = once(stack.stdout as NodeJS.ReadableStream, 'data')
  const exit = once(stack, 'exit')
  interrupt(stack.pid ?? 0)
  t.equal(String((await output)[0]), 'tidied up\n')
  t.strictSame(await exit, [3, null])
}

t.test('Ctrl-C lets the command end, then stops both servers', async (t) => {
  const { stack, pids, words } = await startedStack(t, LOCAL)
  t.match(words, /^postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres 127\.0\.0\.1:\d+ (apache|mock)\n$/)
  t.ok(pids.length >= 5, 'there are two keepers, two servers and the command')
  await endsInOrder(t, stack, (pid) => process.kill(-pid, 'SIGINT'))
  t.strictSame(pids.filter(isRunning), [])
})

t.test('SIGTERM is passed on to the command', async (t) => {
  const { stack } = await startedStack(t, EXTERNAL)
  await endsInOrder(t, stack, (pid) => process.kill(pid, 'SIGTERM'))
})

t.test('SIGKILL leaves neither servers nor keepers', async (t) => {
  const { stack, pids } = await startedStack(t, LOCAL)
  t.ok(pids.length >= 5, 'there are two keepers, two servers and the command')
  process.kill(-(stack.pid ?? 0), 'SIGKILL')
  await until(() => !pids.some(isRunning), { what: 'all servers to be gone' })
})
