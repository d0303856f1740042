import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { createDatabase } from '../stack/databases.ts'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'
import { freePort } from '../stack/free-port.ts'
import { listen } from '../stack/listen.ts'
import { children } from '../stack/processes.ts'
import type { ServiceProcess } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { rowCount } from './rows.ts'

const PARTITION_COUNT = 4
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker does not rebalance like a real one'

const world = await aWorld(t, { partitionCount: PARTITION_COUNT })
// These tests mostly wait.
t.jobs = 3

/** Ends a process by a signal, with this code: 1 past the grace period. */
async function endsBy(t: Test, service: ServiceProcess, signal: NodeJS.Signals, code: number): Promise<void> {
  service.kill(signal)
  t.strictSame(await service.exited, { code, signal: null })
}

/** The output of a process that gets SIGTERM as soon as it handles signals. */
async function stoppedAtOnce(t: Test): Promise<string> {
  const child = spawn(MAIN, ['serve'], {
    // It has no effect, and is logged first.
    env: { ...EXECUTABLE_ENV, ...world.env, RETRY_INTERVAL: '1s' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    if (output === '') child.kill('SIGTERM')
    output += text
  })
  const [code] = await once(child, 'close')
  t.equal(code, 0, output)
  t.match(output, /RETRY_INTERVAL/)
  return output
}

// It runs first: the others would delay the signal.
t.test('a process that is not listening yet stops with 0', async (t) => {
  // On a busy machine the signal may come too late.
  await until(async () => !(await stoppedAtOnce(t)).includes('"listening"'), { what: 'a signal in time' })
})

/** Exit code 0 proves that a process stopped within this. */
const SHUTDOWN_GRACE = '10s'

t.test('a service that waits for a dependency stops promptly', { buffered: true }, async (t) => {
  const noSchema = await createDatabase()
  t.teardown(() => noSchema.drop())
  const silentServer = createServer(() => {})
  t.teardown(() => silentServer.close())
  const silent = `127.0.0.1:${await listen(silentServer)}`
  const nowhere = `127.0.0.1:${await freePort()}`
  const urlOf = (address: string) => `postgres://postgres@${address}/postgres`
  const waiting: readonly (readonly [env: Record<string, string>, lastWord: RegExp | null])[] = [
    [{ MQ_BROKERS: nowhere }, /waiting for the broker/],
    [{ MQ_BROKERS: silent }, /no failed notification is due/],
    [{ MQ_TOPICS: 'there-is-no-such-topic' }, /waiting for topics that do not exist yet/],
    [{ DATABASE_URL: urlOf(nowhere) }, /waiting for the database/],
    [{ DATABASE_URL: urlOf(silent) }, null],
    [{ DATABASE_URL: noSchema.url }, /waiting for the schema/],
  ]
  const stops = waiting.map(async ([env, lastWord]) => {
    const service = await world.serve(env)
    if (lastWord !== null) await service.logged(lastWord)
    const inTime = AbortSignal.timeout(10_000)
    await service.stop()
    t.notOk(inTime.aborted, JSON.stringify(env))
  })
  await Promise.all(stops)

  const service = await world.spawn({ SHUTDOWN_GRACE, MQ_BROKERS: silent })
  await service.logged(/no failed notification is due/)
  await endsBy(t, service, 'SIGINT', 0)
})

t.test(
  'a process stops while it waits for a suspended member',
  { skip: SKIP_MOCK, buffered: true },
  async (t) => {
    const env = { MQ_GROUP_ID: `${world.groupId}-sleepy`, MQ_SESSION_TIMEOUT: '30s' }
    const [sleeper, member] = await Promise.all([world.spawn(env), world.spawn(env)])
    await until(
      () =>
        [sleeper, member].every((service) =>
          service.lines.some(({ assignment }) => Object.keys(assignment ?? {}).length > 0),
        ),
      { what: 'both to have joined' },
    )
    sleeper.kill('SIGSTOP')
    const rejoinCount = () => member.lines.filter(({ msg }) => /the group rebalances/.test(msg)).length
    const rejoinsBefore = rejoinCount()
    const newcomer = await world.spawn(env)
    await newcomer.logged(/^joining the consumer group/)
    await until(() => rejoinCount() > rejoinsBefore, { what: 'the member to wait for the one that sleeps' })
    await Promise.all([endsBy(t, newcomer, 'SIGTERM', 0), endsBy(t, member, 'SIGTERM', 0)])
    sleeper.kill('SIGKILL')
  },
)

const SKIP_CONTAINER =
  spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status !== 0 && 'unshare is not permitted'

t.test('process 1 of a container misses no signal from its start on', { skip: SKIP_CONTAINER }, async (t) => {
  const child = spawn('unshare', ['--pid', '--fork', '--kill-child', '--mount-proc', MAIN, 'serve'], {
    env: { ...EXECUTABLE_ENV, ...world.env },
    stdio: 'ignore',
  })
  const firstProcess = () => children(child.pid ?? 0).find(handlesSignals)
  process.kill(await until(firstProcess, { what: 'the first instruction', intervalMs: 1 }), 'SIGTERM')
  const [code] = await once(child, 'close')
  t.ok([0, 143].includes(code), `${code}`)
})

/**
 * By its mask of signals that have a handler, in which bit 0 is SIGHUP, the last one that we handle. Node.js has handlers of its own
 * for SIGTERM and SIGINT before that.
 */
function handlesSignals(pid: number): boolean {
  const [, mask = '0'] = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return BigInt(`0x${mask}`) % 2n === 1n
}

t.test('a hang-up stops it in order, and no signal opens the inspector', { buffered: true }, async (t) => {
  const service = await world.spawn({ SHUTDOWN_GRACE })
  service.kill('SIGUSR1')
  await endsBy(t, service, 'SIGHUP', 0)
  t.strictSame(service.stderr, [], 'no debugger listens')
})

t.test('a log that nobody reads does not stop the service', { buffered: true }, async (t) => {
  const env = {
    ...EXECUTABLE_ENV,
    ...world.env,
    LOG_LEVEL: 'trace',
    MQ_GROUP_ID: `${world.groupId}-mute`,
  }
  const port = await freePort()
  const child = spawn(MAIN, ['serve'], {
    env: { ...env, PORT: String(port), SHUTDOWN_GRACE },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}/healthz`
  await until(async () => (await fetch(url)).ok, { what: 'the service to listen' })
  // Several times what a pipe and the reader's buffer hold.
  for (let i = 0; i < 3_000; i++)
    await fetch(url, { headers: { connection: 'keep-alive' }, signal: AbortSignal.timeout(30_000) })
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  t.equal(code, 0, 'it stops in order')
  child.stdout.destroy()
})

t.test('a failed start ends the process, though nobody reads its output', { buffered: true }, async (t) => {
  const taken = createServer()
  t.teardown(() => taken.close())
  const port = String(await listen(taken))
  const failures: readonly Record<string, string>[] = [{ PORT: port }, { PORT: 'none' }]
  const starts = failures.flatMap((env) => ['', 'exec 2>&1;'].map((redirect) => ({ env, redirect })))
  const ends = starts.map(async ({ env, redirect }) => {
    const child = spawn('sh', ['-c', `${redirect} timeout 1 cat /dev/zero; exec "$0" serve`, MAIN], {
      env: { ...EXECUTABLE_ENV, ...world.env, RETRY_INTERVAL: '1s', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const inTime = setTimeout(() => child.kill('SIGKILL'), 120_000)
    t.strictSame(await once(child, 'exit'), [1, null], `${JSON.stringify(env)} ${redirect}`)
    clearTimeout(inTime)
    child.stdout.destroy()
    child.stderr.destroy()
  })
  await Promise.all(ends)
})

t.test('a look-up that hangs does not prevent a stop', { buffered: true }, async (t) => {
  const world = await aWorld(t)
  const { requests } = world.policyAdministration
  /** Uses its own group, so that it need not wait for the end of the previous session. */
  const hanging = async (grace: string) => {
    const requestCount = requests.count
    const service = await world.spawn({
      POLICY_ADMIN_DEADLINE: '60s',
      MQ_GROUP_ID: `${world.groupId}-${grace}`,
      SHUTDOWN_GRACE: grace,
    })
    await until(() => requests.count > requestCount, { what: 'the look-up to hang' })
    return service
  }
  await world.publish([anEvent({ partyLocator: 'hanging-1' })])

  await t.test('after the grace period the process ends with another code than 0', async (t) => {
    const service = await hanging('1s')
    await endsBy(t, service, 'SIGTERM', 1)
    t.ok(service.lines.some(({ msg }) => /not stopped within the grace period/.test(msg)))
  })
  await t.test('a second signal ends the process at once, with another code than 0', async (t) => {
    const service = await hanging('10m')
    service.kill('SIGINT')
    await service.logged(/^stopping$/)
    await endsBy(t, service, 'SIGTERM', 1)
  })
  await t.test('nothing was written for its event, which is processed later', async (t) => {
    t.equal(await rowCount(world), 0)
    world.policyAdministration.set('hanging-1', { email: 'a@example.com', phone: null })
    await world.serve()
    await world.caughtUp()
    t.equal(await rowCount(world), 1)
  })
})
