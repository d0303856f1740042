import { Registry } from 'prom-client'
import t from 'tap'
import { createGauges, type Sources } from '../../src/telemetry/gauges.ts'
import { readExposition } from './exposition.ts'

type Backlog = Awaited<ReturnType<Sources['backlog']>>

const AT_WORK: Backlog = {
  assignedCount: 2,
  brokerReachable: true,
  databaseReachable: true,
  partitions: [
    { topic: 'claims', partition: 0, messageCount: 7, oldestAgeS: 12.5 },
    { topic: 'claims', partition: 1, messageCount: 0, oldestAgeS: 0 },
  ],
  failedRows: { waiting: 4, givenUp: 5 },
}

function setUp() {
  let backlog = AT_WORK
  let isDown = false
  const register = new Registry()
  const read = createGauges(
    {
      version: '1',
      ruleTableRevision: 'abc',
      eventTypes: new Set(['claim.paid']),
      backlog: async () => backlog,
      connections: () => [],
      blocked: () => [{ topic: 'claims', partition: 3, reason: 'locked' }],
      isPolicyAdministrationDown: () => isDown,
    },
    [register],
  )
  return async (change: Partial<Backlog>, down = false) => {
    backlog = { ...AT_WORK, ...change }
    isDown = down
    await read()
    return readExposition(await register.metrics())
  }
}

t.test('a gauge of a missing or silent dependency is 0', async (t) => {
  const read = setUp()
  await read({})
  const { value } = await read(
    { assignedCount: null, brokerReachable: false, databaseReachable: false },
    true,
  )
  t.equal(value('notifications_consumer_joined'), 0)
  t.equal(value('notifications_assigned_partitions'), 0)
  t.equal(value('notifications_broker_reachable'), 0)
  t.equal(value('notifications_database_reachable'), 0)
  t.equal(value('notifications_policy_administration_down'), 1)
})

t.test('gauges that are no longer known are removed', async (t) => {
  const read = setUp()
  const names = [
    'notifications_consumer_lag_messages',
    'notifications_oldest_unprocessed_event_age_seconds',
    'notifications_failed_rows',
  ]
  const before = await read({})
  for (const name of names) t.equal(before.families.get(name)?.metrics.length, 2, name)
  const after = await read({ partitions: AT_WORK.partitions.slice(1), failedRows: null })
  t.same(
    names.map((name) => after.families.get(name)?.metrics.length ?? 0),
    [1, 1, 0],
  )
})
