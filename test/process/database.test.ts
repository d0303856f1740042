import t from 'tap'
import { ask, putPreferences, untilReady } from '../stack/ask.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'
import { rowCount } from './rows.ts'

// These tests mostly wait, each in its own world.
t.jobs = 3

t.test('commits that a database lost are repeated without a new message', { buffered: true }, async (t) => {
  const world = await aWorld(t)
  await world.serve()
  await world.publish(Array.from({ length: 20 }, (_, i) => ({ ...anEvent(), partition: i % 2 })))
  await world.caughtUp()
  t.equal(await rowCount(world), 20)
  await world.sql(`
    BEGIN;
    TRUNCATE notifications.notification_log, notifications.decision;
    UPDATE notifications.projection_checkpoints SET "offset" = -1;
    COMMIT`)
  await world.caughtUp()
  t.equal(await rowCount(world), 20)
})

const USER = `limited_${process.pid}`

t.test('a database that takes no writes is reported until it does', { buffered: true }, async (t) => {
  const world = await aWorld(t)
  await world.sql(`CREATE ROLE ${USER} SUPERUSER LOGIN`)
  t.teardown(() => world.sql(`DROP ROLE ${USER}`))
  const url = new URL(world.databaseUrl)
  url.username = USER
  const service = await world.serve({ DATABASE_URL: url.href })
  const readiness = () => ask(`${service.url}/readyz`)
  const put = () => putPreferences(service.url, 'party-1', {})
  const alter = async (change: string) => {
    await world.sql(`ALTER ROLE ${USER} ${change}`)
    await world.sql('SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = $1', [
      USER,
    ])
  }
  await untilReady(service.url)

  await alter('SET default_transaction_read_only = on')
  const reason = /read-only.*point DATABASE_URL at the primary/
  const refused = await until(
    async () => {
      const found = await readiness()
      return reason.test(found.body.detail) && found
    },
    { what: 'the reason' },
  )
  t.match(refused, { status: 503 })
  t.match(await put(), { status: 503, body: { detail: /cannot be used now/ } })
  t.match(await command(['doctor'], { ...world.env, DATABASE_URL: url.href }), {
    code: 1,
    stdout:
      /^failed +database .*read-only: by the setting.*\n +→ set default_transaction_read_only .* to off/m,
  })
  await world.publish([anEvent()])

  await alter('RESET default_transaction_read_only')
  await untilReady(service.url)
  t.match(await put(), { status: 200 })
  await world.caughtUp()
  t.equal(await rowCount(world), 1)

  await alter('SET synchronous_commit = off')
  t.match(await command(['doctor'], { ...world.env, DATABASE_URL: url.href }), {
    stdout:
      /^warning +database .*synchronous_commit off: a crash .*loses opt-outs.*\n +→ set synchronous_commit of the server, .* to on/m,
  })
})
