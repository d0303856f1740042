import t, { type Test } from 'tap'
import { until } from '../stack/until.ts'
import { anEvent, aWorld, type World } from '../stack/world.ts'
import { command } from './command.ts'
import { rowsOf } from './rows.ts'

// They mostly wait, each in a world of its own.
t.jobs = 3

/** The service as a user of its own, which others can be given less rights than. */
async function serveAs(t: Test, world: World, user: string) {
  await world.sql(`CREATE ROLE ${user} LOGIN`)
  t.teardown(async () => {
    await world.sql(`DROP OWNED BY ${user}`)
    await world.sql(`DROP ROLE ${user}`)
  })
  await world.sql(`GRANT USAGE ON SCHEMA notifications TO ${user}`)
  await world.sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA notifications TO ${user}`)
  const url = new URL(world.databaseUrl)
  url.username = user
  const service = await world.serve({ DATABASE_URL: url.href })
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${service.url}${path}`, init)
    return { status: response.status, body: (await response.json()) as { detail?: string } }
  }
  return {
    service,
    readiness: () => get('/readyz'),
    put: () =>
      get('/preferences/party-1', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      }),
    doctor: async () => {
      const { stdout } = await command(['doctor', '--json'], { ...world.env, DATABASE_URL: url.href })
      return JSON.parse(stdout).checks as {
        name: string
        status: string
        detail: string
        remedy: string | null
      }[]
    },
    reconnect: () =>
      world.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [user]),
  }
}

/** A fault, how to cause and to mend it, and the words about it. */
const FAULTS = [
  {
    what: 'a database that takes no writes',
    spoil: (user: string) => `ALTER ROLE ${user} SET default_transaction_read_only = on`,
    mend: (user: string) => `ALTER ROLE ${user} RESET default_transaction_read_only`,
    readiness: /read-only.*point DATABASE_URL at the primary/,
    check: {
      name: 'database',
      detail: /read-only: by the setting default_transaction_read_only/,
      remedy: /^set default_transaction_read_only .* to off/,
    },
  },
  {
    what: 'a right that is missing',
    spoil: (user: string) =>
      `REVOKE INSERT ON notifications.decision, notifications.preference_change FROM ${user}`,
    mend: (user: string) =>
      `GRANT INSERT ON notifications.decision, notifications.preference_change TO ${user}`,
    readiness: /lacks INSERT ON notifications.decision/,
    check: { name: 'schema', detail: /lacks INSERT/, remedy: /db\/grants.sql/ },
  },
]

for (const [index, { what, spoil, mend, readiness: said, check }] of FAULTS.entries()) {
  t.test(`${what} is reported, and work continues once it is corrected`, { buffered: true }, async (t) => {
    const world = await aWorld(t)
    const user = `limited_${index}_${process.pid}`
    const { readiness, put, doctor, reconnect } = await serveAs(t, world, user)
    await until(async () => (await readiness()).status === 200, { what: 'it to be ready' })

    await world.sql(spoil(user))
    await reconnect()
    await until(async () => said.test((await readiness()).body.detail ?? ''), { what: 'the reason' })
    t.equal((await readiness()).status, 503)
    t.match(await put(), { status: 503, body: { detail: /cannot be used now/ } })
    t.match(
      (await doctor()).find(({ name }) => name === check.name),
      { status: 'failed', ...check },
    )
    const event = anEvent()
    await world.publish([event])

    await world.sql(mend(user))
    await reconnect()
    await until(async () => (await readiness()).status === 200, { what: 'it to be ready again' })
    t.match(await put(), { status: 200 })
    await world.caughtUp()
    t.equal((await rowsOf(world, 'notification_log')).length, 1)
  })
}
