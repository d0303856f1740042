// node test/deploy/try-image.ts <bundle>
// Runs an unpacked image as its configuration says: as its user, who has no rights, on a file system that can only be read.
import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { loadEnvelopeMaps, mapOf } from '../../src/service/decide/event/envelope-map.ts'
import { messageByMap } from '../stack/by-map.ts'
import { freePort } from '../stack/free-port.ts'
import { ensureTopics, produce } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { createWorld } from '../stack/world.ts'

interface Configuration {
  readonly process: {
    readonly args: readonly string[]
    readonly env: readonly string[]
    readonly cwd: string
    readonly user: { readonly uid: number; readonly gid: number }
  }
}

const bundle = process.argv[2] ?? ''
const root = join(bundle, 'rootfs')
const image = (JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8')) as Configuration).process
const entryPoint = image.args[0] ?? ''

function run(
  args: readonly string[],
  env: Record<string, string>,
): ChildProcessByStdio<null, Readable, null> {
  const { uid, gid } = image.user
  const settings = [...image.env.map((line) => line.split(/=(.*)/s).slice(0, 2)), ...Object.entries(env)]
  const child = spawn(
    'setpriv',
    [
      ...[`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', 'bwrap'],
      ...['--ro-bind', root, '/', '--ro-bind', '/proc', '/proc', '--dev', '/dev', '--unshare-ipc'],
      ...['--die-with-parent', '--chdir', image.cwd, '--clearenv'],
      ...settings.flatMap(([name, value]) => ['--setenv', `${name}`, `${value}`]),
      ...['--', ...args],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

async function output(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const child = run(args, env)
  const [[code], said] = await Promise.all([once(child, 'close'), text(child.stdout)])
  assert.equal(code, 0, `${args.join(' ')} ended with ${code}: ${said}`)
  return said
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const stats = await Promise.all(sizes.map((file) => lstat(file)))
  return stats.reduce((sum, { size }) => sum + size, 0)
}

/** Events of all types with a text, on each topic that the image's envelope map knows and on one that the default map reads. */
function eventsOf(otherTopic: string) {
  const maps = loadEnvelopeMaps(readFileSync(join(root, 'app/rules/envelope.json'), 'utf8'))
  const types = readdirSync(join(root, 'app/templates')).flatMap(
    (file) => /^(.*)\.mustache$/.exec(file)?.[1] ?? [],
  )
  const topics = [otherTopic, ...maps.byTopic.keys()]
  const events = Array.from({ length: 100 }, (_, i) => {
    const topic = topics[i % topics.length] ?? otherTopic
    const about = { partyLocator: `party-${i}`, locator: `CLM-${i}`, reason: 'late' }
    const values = { eventId: `event-${i}`, eventType: types[i % types.length] ?? '', ...about }
    return { topic, ...messageByMap(mapOf(maps, topic), values) }
  })
  return { topics, events }
}

const mb = (bytes: number) => `${Math.round(bytes / 1_000_000)} MB`

async function tryImage(): Promise<void> {
  assert.ok(image.user.uid > 0, 'the image runs as root')
  assert.match(
    await output(['sh', '-c', 'touch /app/x /tmp/x 2>&1; id -u']),
    /Read-only.*\n.*Read-only.*\n1000\n$/,
  )
  const sbom = JSON.parse(await output(['cat', 'sbom.cdx.json']))
  const installed = await readdir(join(root, 'app/node_modules'))
  console.log(
    `size: ${mb(await bytesIn(root))}, of it ${mb(await bytesIn(join(root, 'app')))} of the service`,
  )
  console.log(`SBOM: ${sbom.bomFormat} ${sbom.specVersion}, ${sbom.components.length} components`)
  assert.ok(!installed.includes('typescript'), 'development dependencies are in the image')

  const world = await createWorld()
  const port = await freePort()
  const { topics, events } = eventsOf(world.topics.claims)
  await ensureTopics(world.brokers, topics, 2)
  const env = { ...world.env, MQ_TOPICS: topics.join(), HOST: '127.0.0.1', PORT: String(port) }
  await output([entryPoint, 'migrate'], env)
  const startedMs = Date.now()
  const service = run(image.args, env)
  const firstLine = once(createInterface({ input: service.stdout }), 'line')
  const ended = once(service, 'exit')
  try {
    await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok, {
      what: 'the service to be ready',
    })
    console.log(`ready after ${((Date.now() - startedMs) / 1_000).toFixed(1)} s`)
    await produce(world.brokers, events)
    const count = async (where: string) => {
      const [row] = await world.sql(`SELECT count(*)::int FROM notifications.notification_log WHERE ${where}`)
      return row?.count as number
    }
    await until(async () => (await count('true')) === events.length, { what: 'each event to have its row' })
    const sentCount = await count(`status = 'SENT'`)
    assert.ok(sentCount > 0, 'nobody was told')
    console.log(`${events.length} events on ${topics.length} topics have their rows; ${sentCount} were told`)
  } finally {
    // bwrap does not pass it on.
    const [line] = await firstLine
    process.kill(JSON.parse(line).pid, 'SIGTERM')
  }
  const [code] = await ended
  assert.equal(code, 0, `SIGTERM ended it with ${code}`)
  console.log('SIGTERM ended it in order')
  await world.close()
}

await tryImage()
