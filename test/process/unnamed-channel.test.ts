import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { without } from '../authoring/default-table.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { spawned } from './command.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

const world = await aWorld(t)
/** The rules of a company that was there before a channel was added. */
const HOUSE = t.testdir({})
await cp(fileURLToPath(new URL('../first', import.meta.url)), HOUSE, { recursive: true })
await writeFile(join(HOUSE, 'rules/dispatch.csv'), without('in-app'))
await world.sql(`
  INSERT INTO notifications.notification_preferences (party_locator, preferred_channel, opted_out_events) VALUES
    ('party-app', 'IN_APP', '[]'), ('party-quiet', 'IN_APP', '["claim.paid"]')`)
const untold = anEvent({ partyLocator: 'party-app' })
const optedOut = anEvent({ partyLocator: 'party-quiet' })
const behind = anEvent({ partyLocator: 'party-1' })
const run = (...args: string[]) => spawned(args, { ...world.env, HOUSE })
const FAILED = { status: 'FAILED', channel: 'IN_APP', failure_reason: 'no rule for this channel' }
const NAMES_NONE = /no rule names the channel IN_APP/

t.test('a table that does not name a channel fails the events of members who prefer it, alone', async (t) => {
  const service = await world.spawn({ HOUSE })
  await world.publish([untold, optedOut, behind])
  await world.caughtUp()
  await service.logged(NAMES_NONE)
  await service.stop()
  const rows = await rowsOf(world, 'notification_log')
  t.match(onlyRowOf(rows, untold), { ...FAILED, attempt_count: 0 })
  t.match(onlyRowOf(rows, optedOut), { status: 'SKIPPED', failure_reason: 'event type opted out' })
  t.match(onlyRowOf(rows, behind), { status: 'SENT', channel: 'EMAIL' })
  // A version without this rule reads a decision of this name as one that no rule made.
  const [decision] = await world.sql(
    `SELECT rule_id FROM notifications.decision WHERE channel = 'IN_APP' AND outcome = 'FAIL'`,
  )
  t.match(decision, { rule_id: '(unknown channel)' })
})

t.test('doctor, why and replay know of it', async (t) => {
  t.match(await run('doctor'), { stdout: NAMES_NONE })
  t.match(await run('why', untold.eventId), {
    ...{ code: 0, stderr: '' },
    stdout: /FAIL \(no rule for this channel\).*the rules depend on the channel/,
  })
  t.match(await run('replay', '--verify'), { code: 0, stdout: /^3 entries compared: no difference/ })
})

t.test('its retries cost no attempt, and send once a table names the channel', async (t) => {
  const retried = async (env: Record<string, string>, counts: object) => {
    await world.sql(
      `UPDATE notifications.notification_log SET last_attempt_at = now() - interval '2 min' WHERE status = 'FAILED'`,
    )
    const service = await world.spawn(env)
    t.match(await service.logged(/^retried failed notifications$/), counts)
    await service.stop()
    return onlyRowOf(await rowsOf(world, 'notification_log'), untold)
  }
  t.match(await retried({ HOUSE }, { unchanged: 1, FAILED: 0 }), { ...FAILED, attempt_count: 0 })
  t.match(await retried({}, { SENT: 1 }), { status: 'SENT', channel: 'IN_APP', attempt_count: 1 })
})
