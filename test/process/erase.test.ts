import pg from 'pg'
import t from 'tap'
import { type RequestTarget, requestTarget } from '../../src/service/model/request/schemas.ts'
import { openPool } from '../../src/service/store/connection/pool.ts'
import { ERASURE_LOCK } from '../../src/service/store/sql/advisory-locks.ts'
import { addRequest } from '../../src/service/store/write/request-row.ts'
import { putPreferences } from '../stack/ask.ts'
import { ADVISORY_LOCK_WAITS } from '../stack/databases.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command, jsonLines } from './command.ts'
import { everything } from './rows.ts'

const world = await aWorld(t)
const erase = (...args: string[]) => command(['erase', ...args], { DATABASE_URL: world.databaseUrl })
const CONTACT = { email: 'member@example.com', phone: '+44 20 7946 0000' }

const allTables = () => everything(world.sql)

t.test('an erasure leaves no message to or about the person, and causes no send', async (t) => {
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  const reason = 'THE-SECRET'
  const sent = anEvent({
    eventType: 'claim.rejected',
    partyLocator: 'party-7',
    payload: { locator: 'CLM-SECRET', reason },
  })
  const failed = anEvent({ partyLocator: 'error-7', payload: { locator: 'CLM-SECRET' } })
  const other = anEvent({ partyLocator: 'party-70', payload: { locator: 'CLM-OTHER' } })
  const rejected = [
    { value: `{"partyLocator": "party-7", "reason": "${reason}"}` },
    { value: `{"partyLocator": "party-7", "reason": "${reason}` },
    { value: `{"partyLocator": "party-70", "reason": "of another"}` },
  ]
  await world.publish([sent, failed, other, ...rejected])
  await world.caughtUp()
  const preferences = { ...CONTACT, optedOutEvents: ['claim.paid'] }
  t.match(await putPreferences(service.url, 'party-7', preferences), { status: 200 })

  const exported = await command(['export', '--party', 'party-7'], { DATABASE_URL: world.databaseUrl })
  t.match(exported, { code: 0, stderr: /^1 rejected message without a readable envelope/ })
  t.match(jsonLines(exported.stdout), [
    { kind: 'preferences', email: CONTACT.email },
    { kind: 'preferenceChange', after: { phone: CONTACT.phone } },
    {
      kind: 'logEntry',
      eventId: sent.eventId,
      body: /THE-SECRET/,
      decisions: [{ outcome: 'SEND' }],
      variables: [{ reason }],
    },
    { kind: 'rejectedMessage', topic: String, headers: {}, value: { text: /party-7/ } },
    { kind: 'rejectedMessage', value: { text: /party-7/ } },
  ])
  t.notMatch(exported.stdout, /CLM-OTHER/)

  const args = ['--party', 'party-7']
  const before = await allTables()
  t.match(before, /THE-SECRET/)
  t.match(await erase(...args, '--dry-run'), {
    code: 0,
    stdout:
      /^Dry run: would erase 1 log entry .*1 set of preferences and 1 preference change, 2 rejected messages of party-7\n1 rejected message without/,
  })
  t.match(await erase(...args), { code: 2, stdout: '', stderr: /use --yes$/m })
  t.equal(await allTables(), before, 'before it is told that it may, it changes nothing')

  t.match(await erase(...args, '--yes', '--by', 'dpo', '--json'), { code: 0, stderr: '' })
  t.match(await erase('--party', 'error-7', '--yes'), {
    code: 0,
    stdout: /1 of them failed and will not be retried/,
  })
  const after = await allTables()
  t.notMatch(after, /THE-SECRET|CLM-SECRET|member@example\.com|7946 0000/)
  t.match(after, /CLM-OTHER/)
  t.match(after, /of another/)
  await world.sql(
    `INSERT INTO notifications.erasure (party_locator, erased_by) VALUES ('party-7', 'interrupted')`,
  )
  t.match(await command(['doctor'], world.env), { stdout: /1 erasure interrupted or under way/ })
  t.match(await erase(...args, '--yes'), {
    code: 0,
    stdout: /^Nothing left to erase of party-7/,
  })
  t.match(await world.sql('SELECT * FROM notifications.erasure ORDER BY id'), [
    {
      party_locator: 'party-7',
      erased_by: 'dpo',
      log_entries: 1,
      preference_changes: 1,
      rejected_messages: 2,
      finished_at: Date,
    },
    { party_locator: 'error-7', log_entries: 1, retries: 1, finished_at: Date },
    { party_locator: 'party-7', erased_by: 'interrupted', finished_at: Date },
    { party_locator: 'party-7', log_entries: 0, finished_at: Date },
  ])

  world.policyAdministration.set('error-7', CONTACT)
  await world.sql(
    `UPDATE notifications.notification_log SET last_attempt_at = last_attempt_at - interval '2 min'`,
  )
  await world.publish([sent, failed, anEvent({ partyLocator: 'party-7' })])
  await world.caughtUp()
  await service.stop()
  const second = await world.serve()
  await second.logged(/^(no failed notification is due|retried failed notifications)$/)
  t.match(
    await world.sql(
      `SELECT status, failure_reason, body FROM notifications.notification_log WHERE event_id = ANY($1) ORDER BY status`,
      [[sent.eventId, failed.eventId]],
    ),
    [
      { status: 'SENT', failure_reason: null, body: null },
      { status: 'SKIPPED', failure_reason: 'erased before it was sent', body: null },
    ],
  )
  t.match(
    await world.sql(
      `SELECT failure_reason FROM notifications.notification_log WHERE party_locator = 'party-7' AND body IS NULL AND status = 'SKIPPED'`,
    ),
    [{ failure_reason: 'event type opted out' }],
    'the opt-out stays in force',
  )
  t.notMatch(await allTables(), /THE-SECRET|CLM-SECRET/, 'published again, nothing is kept again')
  await world.sql(
    `UPDATE notifications.notification_log SET last_attempt_at = last_attempt_at + interval '2 min'`,
  )
  const redrive = ['rejected', 'redrive', '--all', '--yes', '--because', 'a fix']
  const { stdout } = await command(redrive, world.env)
  t.equal(stdout.match(/left unchanged: it was erased$/gm)?.length, 2)
  await second.stop()
})

t.test('a row that a running redrive writes is erased, too', async (t) => {
  const service = await world.serve()
  await world.publish([anEvent({ partyLocator: 'party-9' }), { value: '{"partyLocator": "party-8"}' }])
  await world.caughtUp()
  await service.stop()
  const redrive = new pg.Client(world.databaseUrl)
  await redrive.connect()
  t.teardown(() => redrive.end())
  await redrive.query('BEGIN')
  await redrive.query('SELECT pg_advisory_xact_lock_shared($1)', [ERASURE_LOCK])
  const erasure = erase('--party', 'party-8', '--yes')
  await until(async () => (await world.sql(ADVISORY_LOCK_WAITS)).length > 0, { what: 'the erasure to wait' })
  await redrive.query(`
    UPDATE notifications.notification_log SET party_locator = 'party-8' WHERE party_locator = 'party-9'`)
  await redrive.query('COMMIT')
  t.match(await erasure, { code: 0, stdout: /^Erased 1 log entry .*1 rejected message of party-8/ })
})

t.test('a request that waits too long for an erasure says so, and is carried out after it', async (t) => {
  const service = await world.serve()
  await world.publish([{ value: '{"partyLocator": "party-6"}' }])
  await world.caughtUp()
  const erasure = new pg.Client(world.databaseUrl)
  await erasure.connect()
  t.teardown(() => erasure.end())
  await erasure.query('BEGIN')
  await erasure.query('SELECT pg_advisory_xact_lock($1)', [ERASURE_LOCK])
  const redrive = command(['rejected', 'redrive', '--all', '--yes', '--because', 'a fix'], world.env)
  const readNote = () =>
    world.sql('SELECT note FROM notifications.request WHERE ended_at IS NULL AND note IS NOT NULL')
  await until(async () => (await readNote()).length > 0, { what: 'the note', timeoutMs: 20_000 })
  t.same(await readNote(), [{ note: 'tries again: an `erase` or a `replay --rebuild` is running' }])
  await erasure.query('COMMIT')
  t.match(await redrive, { stdout: /still rejected/ })
  await service.stop()
})

t.test('requests keep their counts, and nothing that names the person', async (t) => {
  const pool = await openPool({ databaseUrl: world.databaseUrl, connectionCountMax: 1 })
  t.teardown(() => pool.end())
  const service = await world.serve()
  const event = anEvent({ partyLocator: 'party.5', payload: { locator: 'CLM-5' } })
  const other = anEvent({ partyLocator: 'party.50', payload: { locator: 'CLM-50' } })
  await world.publish([event, other, { value: '{"partyLocator": "party.5"}' }])
  await world.caughtUp()
  await service.stop()
  await world.sql('TRUNCATE notifications.request')
  const locatorOf = async (eventId: string): Promise<string> => {
    const query = 'SELECT locator FROM notifications.notification_log WHERE event_id = $1'
    return (await world.sql(query, [eventId]))[0]?.locator
  }
  const [locator, otherLocator] = [await locatorOf(event.eventId), await locatorOf(other.eventId)]
  const [message] = await world.sql(
    `SELECT id::text FROM notifications.rejected_message WHERE convert_from(value, 'UTF8') ~ 'party.5"'`,
  )
  const to = '2026-01-01T00:00:00.000000Z'
  const retry = (filter: object): RequestTarget =>
    requestTarget.parse({ kind: 'retry', target: { filter: { ...filter, to } } })
  const byFilter = [
    { partyLocator: 'party.5' },
    { reference: 'CLM-5', eventType: 'claim.paid' },
    { eventId: event.eventId },
    { locator },
    { reason: 'party.5 has moved' },
    { reasonPrefix: 'refused: (party.5)' },
  ].map(retry)
  const byName: readonly RequestTarget[] = [
    { kind: 'retry', target: { locators: [otherLocator, locator] } },
    { kind: 'dismiss', target: { ids: [message?.id] } },
  ]
  const ofOthers: readonly RequestTarget[] = [
    ...[{ partyLocator: 'party.50' }, { reference: 'CLM-50' }, { reason: 'party-5' }, {}].map(retry),
    { kind: 'retry', target: { locators: [otherLocator] } },
  ]
  const asked: string[] = []
  for (const target of [...byFilter, ...byName]) {
    asked.push(await addRequest(pool, target, 'o', 'she called'))
    asked.push(await addRequest(pool, target, 'o', 'she called'))
    await world.sql(
      `UPDATE notifications.request SET state = 'done', ended_at = now(), counts = '{"SENT": 1}' WHERE id = $1`,
      [asked.at(-1)],
    )
  }
  asked.push(await addRequest(pool, retry({}), 'o', "party.5's husband called"))
  for (const target of ofOthers) await addRequest(pool, target, 'o', 'party.50 called')
  const requests = (isHers: boolean) =>
    world.sql(
      `SELECT kind, target, because, state, counts FROM notifications.request WHERE id = ANY($1::bigint[]) = $2 ORDER BY id`,
      [asked, isHers],
    )
  const others = await requests(false)

  const args = ['--party', 'party.5']
  t.match(await erase(...args, '--dry-run'), { stdout: new RegExp(`, ${asked.length} requests, `) })
  t.match(await erase(...args, '--yes'), { stdout: new RegExp(`, ${asked.length} requests, `) })
  const hers = await requests(true)
  for (const { kind, target, because } of hers) {
    t.equal(because, 'erased')
    t.notMatch(JSON.stringify(target), /party\.5|CLM-5/)
    t.same(requestTarget.parse({ kind, target }), { kind, target }, 'it can be read as before')
  }
  const states = byFilter.flatMap(() => ['cancelled', 'done'])
  t.same(
    hers.map(({ state }) => state),
    [...states, ...byName.flatMap(() => ['waiting', 'done']), 'waiting'],
  )
  t.equal(hers.filter(({ counts }) => counts.SENT === 1).length, byFilter.length + byName.length)
  t.same(await requests(false), others)
  t.match(await erase(...args, '--yes'), { stdout: /^Nothing left to erase/ })
})
