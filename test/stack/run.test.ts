import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { aDatabase, onServer } from './databases.ts'
import { descendants, isRunning } from './processes.ts'
import { withAdmin } from './topics.ts'
import { until } from './until.ts'

const RUN = fileURLToPath(new URL('./run.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The environment of a fresh terminal, with the rules of this process. */
const { PATH, HOME, NODE_OPTIONS } = process.env
const PLAIN_ENV = { PATH, HOME, NODE_OPTIONS }
const LOCAL = { DATABASE_URL: '', MQ_BROKERS: '' }

/** Resolves once it has said that it stays up. */
async function started(t: Test, env: Record<string, string>) {
  const child = spawn(process.execPath, [RUN], {
    cwd: ROOT,
    detached: true,
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  /** Resolves to the expression's capture once it is printed. */
  const printed = async (expression: RegExp) => {
    const isEnded = () => child.exitCode !== null && []
    // A busy machine takes a minute for the servers alone.
    const found = await until(() => expression.exec(text) || isEnded(), {
      what: `${expression} in ${text}`,
      timeoutMs: 180_000,
    })
    if (found.length === 0) throw new Error(`it ended before ${expression}: ${text}`)
    return found[1] ?? ''
  }
  await printed(/stays up/)
  const log = await printed(/its log: (\S+)/)
  t.teardown(() => rm(dirname(log), { recursive: true }))
  return { child, text: () => text, printed, pids: descendants(child.pid ?? 0) }
}

t.test('make run shows results, and leaves nothing behind at Ctrl-C', async (t) => {
  const { child, text, printed, pids } = await started(t, LOCAL)
  t.match(text(), /✓ PostgreSQL in \d+\.\d s\n/)
  t.match(text(), /✓ Kafka \((apache|mock)\) in \d+\.\d s\n/)
  t.ok(pids.length >= 6, 'there are three keepers, two servers and the service')

  const kinds = [...text().matchAll(/^ {2}(SENT|SKIPPED|FAILED) +(EMAIL|SMS|IN_APP) +\d/gm)]
  t.strictSame(
    new Set(kinds.map(([, status, channel]) => `${status} ${channel}`)),
    new Set(['SENT EMAIL', 'SENT SMS', 'SENT IN_APP', 'SKIPPED EMAIL', 'SKIPPED SMS', 'FAILED EMAIL']),
  )
  t.match(
    text(),
    /364 messages: 345 log rows, 12 duplicates absorbed, 7 rejected; each event has exactly one row/,
  )

  const entry = await fetch(await printed(/(http:\S+\/log\/NTF-\S+)/))
  t.match(await entry.json(), { status: 'SENT', decisions: [{ outcome: 'SEND' }] })
  t.equal((await fetch(await printed(/(http:\S+\/readyz)/))).status, 200)
  t.equal((await fetch(await printed(/(http:\S+\/console)\n/))).status, 200)

  const source = await printed(/^ {2}(export PATH=.*)$/m)
  for (const [line, answer] of [
    [await printed(/^ {2}(src\/main\.ts why NTF-.*)$/m), /^NTF-\S+ is SENT: /],
    [await printed(/^ {2}(src\/main\.ts doctor)$/m), /^All checks passed/m],
  ] as const) {
    const asked = spawnSync('sh', ['-c', `${source}\n${line}`], {
      cwd: ROOT,
      encoding: 'utf8',
      env: PLAIN_ENV,
    })
    t.match(asked, { status: 0, stdout: answer }, line)
  }

  const own = await printed(/^ {2}(echo .*)$/m)
  t.match(spawnSync('sh', ['-c', own], { cwd: ROOT, encoding: 'utf8' }).stdout, 'published to claims: 1')
  const list = await printed(/(http:\S+\/log\/list)\n/)
  await until(async () => (await (await fetch(list)).text()).includes('my-first-event'), {
    what: "the event of one's own in the list",
  })

  process.kill(-(child.pid ?? 0), 'SIGINT')
  t.strictSame(await once(child, 'exit'), [0, null])
  t.strictSame(pids.filter(isRunning), [])
})

t.test('it uses its own data on given servers, reports a part that ends, and stops the others', async (t) => {
  const database = await aDatabase(t)
  const { child, text, pids } = await started(t, { DATABASE_URL: database.url })
  t.match(text(), '✓ PostgreSQL as DATABASE_URL says\n')
  t.match(text(), '✓ Kafka as MQ_BROKERS says\n')
  t.notMatch(text(), database.url, 'a URL may hold a password')
  const [, topic = ''] = /✓ topics (claims\S*), /.exec(text()) ?? []
  t.not(topic, 'claims')
  const topics = () => withAdmin(process.env.MQ_BROKERS ?? '', (admin) => admin.listTopics())
  t.ok((await topics()).includes(topic))

  const service = pids.find((pid) => commandOf(pid).includes('main.ts serve')) ?? 0
  process.kill(service, 'SIGKILL')
  t.strictSame(await once(child, 'close'), [1, null])
  t.match(text(), /the service has ended by itself \(SIGKILL\)\. Its log ends in\n.*"msg":"/s)
  t.strictSame(pids.filter(isRunning), [])
  const written = `
    SELECT (SELECT count(*) FROM notifications.notification_log) + (SELECT count(*) FROM notifications.notification_preferences)`
  t.strictSame(
    (await onServer(database.url, (client) => client.query({ text: written, rowMode: 'array' }))).rows,
    [['0']],
  )
  t.notOk((await topics()).includes(topic))
})

t.test('make run leaves nothing behind at a SIGTERM during its start', async (t) => {
  const child = spawn(process.execPath, [RUN], {
    env: { ...process.env, ...LOCAL, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
  t.teardown(() => child.kill('SIGKILL'))
  // Two keepers, and what each has begun. Nothing that passes is waited for: a busy machine would miss it.
  const pids = await until(
    () => {
      const pids = descendants(child.pid ?? 0)
      return pids.length >= 4 && pids
    },
    { what: 'the start to be under way', intervalMs: 10 },
  )
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null], text)
  t.strictSame(pids.filter(isRunning), [])
})

t.test('make run has the rules of the product, and ends with make', async (t) => {
  const child = spawn('make', ['run', 'HOUSE=/nowhere'], {
    cwd: ROOT,
    env: { ...PLAIN_ENV, ...LOCAL, PORT: '0' },
    stdio: 'ignore',
  })
  t.teardown(() => child.kill('SIGKILL'))
  const pids = await until(
    () => {
      const pids = descendants(child.pid ?? 0)
      const isUnderWay = pids.some((pid) => commandOf(pid).includes('keeper.ts'))
      return (isUnderWay || child.exitCode !== null) && pids
    },
    { what: 'the start to be under way', intervalMs: 10 },
  )
  t.equal(child.exitCode, null)
  child.kill('SIGTERM')
  await until(() => !pids.some(isRunning), { what: 'all of it to end' })
})

function commandOf(pid: number): string {
  return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout
}
