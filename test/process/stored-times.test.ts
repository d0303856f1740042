import t from 'tap'
import { ask, putPreferences, untilReady } from '../stack/ask.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'
import { rowsOf } from './rows.ts'

const world = await aWorld(t)
const run = (...args: string[]) => command(args, world.env)

/** Times that rows written by hand may have, as PostgreSQL writes them; the newest one first. */
const FAR = [
  'infinity',
  '294276-12-31 23:59:59.999999+00',
  '99999-02-28 12:00:00+00',
  '0044-03-15 00:00:00+00 BC',
  '4714-11-24 00:00:00+00 BC',
  '-infinity',
]
const EVENTS = [...FAR, null].map(() => anEvent({ partyLocator: 'party-1' }))
const failed = anEvent({ partyLocator: 'error-1' })

/** Sets columns of the rows of a table to these times, one after the other. */
const setTimes = (table: string, columns: readonly string[], key: string) =>
  world.sql(
    `UPDATE notifications.${table} AS row SET ${columns.map((column) => `${column} = far.time`).join(', ')}
    FROM (SELECT ${key} AS key, row_number() OVER (ORDER BY ${key}) AS nr FROM notifications.${table}) AS numbered
    JOIN unnest($1::timestamptz[]) WITH ORDINALITY AS far (time, nr) USING (nr)
    WHERE row.${key} = numbered.key`,
    [FAR],
  )

t.test('rows with times of any kind trouble no list, and are shown with them', async (t) => {
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  const management = await service.managementUrl()
  await untilReady(service.url)
  for (const optedOut of FAR)
    await putPreferences(service.url, 'party-1', { optedOutEvents: [`x.${FAR.indexOf(optedOut)}`] })
  await world.publish([...EVENTS, failed, ...FAR.map((time) => ({ value: `no event, ${time}` }))])
  await world.caughtUp()
  await world.sql(
    `INSERT INTO notifications.request (kind, target, requested_by, because, state, ended_at)
    SELECT 'dismiss', '{"ids": ["1"]}', 'alice', 'seen', 'done', now() FROM generate_series(1, $1)`,
    [FAR.length],
  )
  await setTimes('notification_log', ['created_at', 'sent_at', 'last_attempt_at'], 'event_id')
  await world.sql(`UPDATE notifications.notification_log SET sent_at = NULL WHERE status <> 'SENT'`)
  await setTimes('decision', ['decided_at'], 'locator')
  await setTimes('preference_change', ['changed_at'], 'id')
  await setTimes('rejected_message', ['rejected_at'], 'id')
  await setTimes('request', ['requested_at', 'ended_at'], 'id')
  await world.sql(`UPDATE notifications.rule_table_activation SET activated_at = 'infinity'`)

  /** Lists one entry a page. */
  const listTimes = async (filter: string) => {
    const times: string[] = []
    for (let cursor = ''; times.length <= EVENTS.length + 1; ) {
      const { status, body } = await ask(`${service.url}/log/list?limit=1${filter}${cursor}`)
      t.equal(status, 200, cursor)
      for (const { createdAt } of body.items ?? []) times.push(createdAt)
      if (body.nextCursor == null) break
      cursor = `&cursor=${body.nextCursor}`
    }
    return times
  }
  const seen = await listTimes('')
  t.equal(seen.length, EVENTS.length + 1)
  t.strictSame(await listTimes('&to=2000-01-01'), FAR.slice(3), 'bounds compare as times, not as texts')
  t.strictSame(
    seen.filter((time) => FAR.includes(time)),
    FAR,
    'each on a page of its own, in order',
  )
  for (const { locator } of await rowsOf(world, 'notification_log')) {
    t.match(await ask(`${service.url}/log/${locator}`), { status: 200 })
    t.match(await run('why', locator), { code: 0, stderr: '' })
  }
  for (const path of [
    'log/list',
    'preferences/party-1',
    'rejected',
    'requests',
    'counts',
    'rules',
    'event-types',
  ])
    t.match(await ask(`${management}/console/data/${path}`), { status: 200 }, path)
  await service.stop()
  for (const args of [
    'log --json --since 2020-01-01',
    'log --csv --since 2020-01-01',
    'export --party party-1',
    'erase --party party-1 --dry-run',
    'rejected list --all',
    'requests list',
    'retry --since 2020-01-01 --dry-run',
    'prune --older-than 400d --dry-run',
  ])
    t.match(await run(...args.split(' ')), { code: 0 }, args)
  t.notMatch(await run('replay', '--verify'), { stderr: /time|RangeError/ })
})

t.test('a failed row of no known time is retried', async () => {
  await world.sql(
    `UPDATE notifications.notification_log SET created_at = 'infinity', last_attempt_at = NULL WHERE event_id = $1`,
    [failed.eventId],
  )
  await world.serve()
  const attempts = async () =>
    (await rowsOf(world, 'decision')).filter(({ event_id }) => event_id === failed.eventId).length
  await until(async () => (await attempts()) > 1, { what: 'a second attempt' })
})

t.test('a pruning of all times holds up no event', async () => {
  await world.sql(`
    INSERT INTO notifications.pruned_partition (topic, partition_id, before, through)
    SELECT topic, partition_id, 'infinity', 0 FROM notifications.projection_checkpoints`)
  const event = anEvent({ partyLocator: 'party-1' })
  await world.publish([event])
  const isLogged = async () =>
    (await rowsOf(world, 'notification_log')).some(({ event_id }) => event_id === event.eventId)
  await until(isLogged, { what: 'its row' })
})
