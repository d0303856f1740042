import t from 'tap'
import { until } from '../stack/until.ts'
import { aWorld, manyEvents } from '../stack/world.ts'
import { command } from './command.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker keeps no offsets of groups'
const LOST = /^this database has lost the rows of up to \d+ messages/

/** What `doctor` says of a check. */
async function check(name: string, env: Record<string, string>) {
  const { stdout } = await command(['doctor', '--json'], env)
  return JSON.parse(stdout).checks.find((one: { name: string }) => one.name === name)
}

t.test('the first start is decided, and moved back, by a command', { skip: SKIP_MOCK }, async (t) => {
  const world = await aWorld(t)
  const { claims, billing } = world.topics
  await world.publish(manyEvents(12, 2))
  t.match(await check('partitions', world.env), {
    status: 'failed',
    detail: new RegExp(`nobody has decided .*${claims}/0: 2, `),
    remedy: /^with all replicas stopped, .*checkpoints set --to latest/,
  })
  const set = (...args: string[]) =>
    command(['checkpoints', 'set', '--because', 'a test', '--yes', ...args], world.env)
  const dry = await set('--to', 'latest', '--dry-run')
  t.match(dry, {
    code: 0,
    stdout: /0 {2}no checkpoint, to be 1: 2 is the first.*\nDry run: would set 6 checkpoints\n$/s,
  })
  t.match(await check('partitions', world.env), { status: 'failed' })
  t.match(await set('--to', 'latest', '--topic', billing), { code: 0, stdout: /Set\.\n$/ })
  t.match(await set('--to', 'earliest', '--topic', claims), { code: 0 })
  t.match(await check('partitions', world.env), { status: 'failed', detail: /enrollment/ })
  t.match(await set('--to', '1h', '--topic', world.topics.enrollment), { code: 0 })
  t.match(await check('partitions', world.env), { status: 'ok' })
  t.match(await set('--to', '9', '--topic', claims, '--partition', '0'), {
    code: 1,
    stderr: /offsets 0 to 1/,
  })
  t.match(await set('--to', 'latest', '--topic', 'nobodys'), {
    code: 2,
    stderr: /nobodys: MQ_TOPICS has /,
  })
  t.match(await world.sql('SELECT * FROM notifications.checkpoint_change WHERE topic = $1', [billing]), [
    { from_offset: null, to_offset: '1', because: 'a test', database_user: /./, changed_by: /./ },
    { from_offset: null, to_offset: '1' },
  ])

  const service = await world.serve()
  await world.caughtUp()
  const topics = new Set(
    (await world.sql('SELECT topic FROM notifications.decision')).map(({ topic }) => topic),
  )
  t.strictSame([...topics].sort(), [claims, world.topics.enrollment].sort())
  t.match(await set('--to', 'latest'), {
    code: 1,
    stderr: /1 member of the consumer group .*stop all replicas/,
  })
  const mistyped = { ...world.env, MQ_GROUP_ID: `${world.env.MQ_GROUP_ID}e` }
  t.match(await command(['checkpoints', 'set', '--to', 'latest', '--because', 'x', '--yes'], mistyped), {
    code: 1,
    stderr: new RegExp(
      `another consumer group works on this database: ${world.env.MQ_GROUP_ID} on 1 replica.*correct MQ_GROUP_ID`,
    ),
  })
  await service.stop()
  t.match(await set('--to', '0', '--topic', billing, '--partition', '1'), { code: 0 })
  t.match(await check('committed offsets', world.env), { status: 'ok' }, 'no rows are lost')
  const { stdout } = await command(['checkpoints'], world.env)
  t.match(
    stdout,
    new RegExp(`^${billing}/1 {2}checkpoint -1, committed 0 by this database, .*end 2, lag 2$`, 'm'),
  )
  const listed = await command(['checkpoints', '--json'], world.env)
  t.match(JSON.parse(listed.stdout).partitions.length, 6)
  const again = await world.serve()
  await world.caughtUp()
  await again.stop()
  t.notOk(again.lines.some(({ msg }) => LOST.test(msg)))
})

t.test('a first start on topics with history warns once', { skip: SKIP_MOCK }, async (t) => {
  const world = await aWorld(t)
  await world.publish(manyEvents(12, 2))
  const service = await world.serve()
  const warnings = () =>
    service.lines.filter(({ msg }) => /^no checkpoint: .* messages from before the first start/.test(msg))
  // Partitions that start later than a second after the first one have a line of their own.
  const warned = () => warnings().flatMap(({ partitions }) => String(partitions).split(','))
  await until(() => warned().length === 6, { what: 'all partitions to be warned of' })
  await world.caughtUp()
  await service.stop()
  t.strictSame(
    warned().map((one) => one.split(': ')[1]),
    Array(6).fill('2'),
  )
  for (const line of warnings()) t.match(line, { level: 'warn', oldest: /^20\d\d-/ })
  const again = await world.serve()
  await world.caughtUp()
  await again.stop()
  t.notOk(again.lines.some(({ msg }) => /^no checkpoint/.test(msg)))
})
