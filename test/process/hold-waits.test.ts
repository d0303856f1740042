import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { ATTEMPTS_LOCK } from '../../src/service/store/sql/advisory-locks.ts'
import { untilReady } from '../stack/ask.ts'
import { aWorld } from '../stack/world.ts'
import { command } from './command.ts'

t.test('a hold is acknowledged once the batches under way have ended', async (t) => {
  const world = await aWorld(t)
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  await untilReady(service.url)
  const url = `${await service.managementUrl()}/console/data/requests`
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ wanted: { kind: 'hold' }, because: 'x' })
  const batch = new pg.Client(world.databaseUrl)
  await batch.connect()
  t.teardown(() => batch.end())
  for (const ask of [
    () => command(['hold', '--yes', '--because', 'x'], world.env),
    () => fetch(url, { method: 'POST', headers, body }),
  ]) {
    await batch.query(`BEGIN; SELECT pg_advisory_xact_lock_shared(${ATTEMPTS_LOCK})`)
    const acknowledged = ask().then(() => 'acknowledged')
    t.equal(await Promise.race([acknowledged, sleep(1_000, 'waiting')]), 'waiting')
    await batch.query('COMMIT')
    t.equal(await acknowledged, 'acknowledged')
  }
})
