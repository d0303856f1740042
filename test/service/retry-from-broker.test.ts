import t from 'tap'
import { removeBefore } from '../stack/topics.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'

const skip = process.env.KAFKA_KIND === 'mock' && 'the mock broker cannot remove messages'
const PARTIES = [
  'gone',
  'kept',
  'swapped',
  'moved',
  'kept-too',
  'other-type',
  'other-party',
  'ahead',
  'newer',
]

t.test('a skipped row that kept nothing is rendered from its message in the broker', { skip }, async (t) => {
  const world = await aWorld(t, { partitionCount: 1 })
  const service = await world.serve()
  for (const name of PARTIES) {
    // One batch each: the broker removes whole messages, but sends whole batches.
    await world.publish([
      anEvent({
        eventId: name,
        eventType: 'claim.rejected',
        partyLocator: `unknown-${name}`,
        payload: { locator: `CLM-${name}`, reason: 'too late' },
      }),
    ])
  }
  await world.caughtUp()
  await service.stop()
  const reachable = { email: 'a@example.com', phone: null }
  for (const name of PARTIES) world.policyAdministration.set(`unknown-${name}`, reachable)
  await world.sql('UPDATE notifications.decision SET variables = NULL')
  await world.sql(`UPDATE notifications.decision SET "offset" = 1 WHERE event_id = 'swapped'`)
  await world.sql(`UPDATE notifications.decision SET topic = 'no-such-topic' WHERE event_id = 'moved'`)
  // As where the topic was created anew since, and has the same event ids at the same offsets.
  for (const table of ['notification_log', 'decision']) {
    await world.sql(
      `UPDATE notifications.${table} SET event_type = 'claim.approved' WHERE event_id = 'other-type'`,
    )
    await world.sql(
      `UPDATE notifications.${table} SET party_locator = 'unknown-kept' WHERE event_id = 'other-party'`,
    )
  }
  // The one by a clock that is a little ahead, the other by minutes.
  for (const [eventId, minutes] of [
    ['ahead', 1],
    ['newer', 10],
  ])
    for (const column of ['notification_log SET created_at', 'decision SET decided_at'])
      await world.sql(
        `UPDATE notifications.${column} = date_trunc('minute', now()) - $2 * interval '1 minute' WHERE event_id = $1`,
        [eventId, minutes],
      )
  await removeBefore(world.brokers, world.topics.claims, 0, 1)

  const args = ['retry', '--since', '1h', '--because', 'they are known now', '--yes', '--json']
  const { code, stdout } = await command(args, world.env)
  t.equal(code, 0)
  const rows = await world.sql('SELECT locator, event_id, status, body FROM notifications.notification_log')
  const eventIdOf = new Map(rows.map(({ locator, event_id }) => [locator, event_id]))
  const results = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(Object.fromEntries(results.map((result) => [eventIdOf.get(result.locator), result])), {
    gone: { result: 'refused', error: 'the broker no longer has it' },
    kept: { result: 'SENT', channel: 'EMAIL' },
    swapped: { result: 'refused', error: 'the broker has another message at its offset' },
    moved: { result: 'refused', error: /^its message cannot be read from the broker: / },
    'kept-too': { result: 'SENT' },
    'other-type': { result: 'refused', error: 'the broker has another message at its offset' },
    'other-party': { result: 'refused', error: 'the broker has another message at its offset' },
    ahead: { result: 'SENT' },
    newer: {
      result: 'refused',
      error: 'the broker has another message at its offset: one newer than the log entry',
    },
  })
  const statusOf = Object.fromEntries(rows.map(({ event_id, status }) => [event_id, status]))
  t.match(statusOf, {
    gone: 'SKIPPED',
    kept: 'SENT',
    swapped: 'SKIPPED',
    moved: 'SKIPPED',
    'kept-too': 'SENT',
    'other-type': 'SKIPPED',
    'other-party': 'SKIPPED',
    ahead: 'SENT',
    newer: 'SKIPPED',
  })
  t.match(rows.find(({ event_id }) => event_id === 'kept')?.body, /CLM-kept.*too late/s)
  t.match(await command(['replay', '--verify'], world.env), { code: 0, stdout: /no difference/ })
})
