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
/** A service that runs says so in its own row from time to time. */
const allButReplicas = () => everything(world.sql, ['replica'])

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
  const ofNobody = (locator: string, reason: string) =>
    anEvent({ eventType: 'claim.rejected', partyLocator: null, payload: { locator, reason } })
  const naming = ofNobody('CLM-SECRET', 'party-7')
  const telling = ofNobody('CLM-SECRET', 'party-7 called THE-SECRET')
  const notNaming = ofNobody('CLM-OTHER', 'party-70 called')
  const rejected = [
    { value: `{"partyLocator": "party-7", "reason": "${reason}"}` },
    { value: `{"partyLocator": "party-7", "reason": "${reason}` },
    { value: `{"partyLocator": "party-70", "reason": "of another"}` },
  ]
  await world.publish([sent, failed, other, naming, telling, notNaming, ...rejected])
  await world.caughtUp()
  await service.logged(/rule table is in force/)
  const preferences = { ...CONTACT, optedOutEvents: ['claim.paid'] }
  t.match(await putPreferences(service.url, 'party-7', preferences), { status: 200 })

  const exported = await command(['export', '--party', 'party-7'], { DATABASE_URL: world.databaseUrl })
  t.match(exported, {
    code: 0,
    stderr: /^1 rejected message without a readable envelope.*\nNot printed, .*: \d+ NTF-[-0-9a-f]+\. Look /m,
  })
  t.match(jsonLines(exported.stdout), [
    { kind: 'preferences', email: CONTACT.email },
    { kind: 'preferenceChange', after: { phone: CONTACT.phone } },
    { kind: 'rejectedMessage', topic: String, headers: {}, value: { text: /party-7/ } },
    {
      kind: 'logEntry',
      eventId: sent.eventId,
      body: /THE-SECRET/,
      decisions: [{ outcome: 'SEND' }],
      variables: [{ reason }],
    },
    { kind: 'logEntry', eventId: naming.eventId, partyLocator: null, variables: [{ reason: 'party-7' }] },
  ])
  t.notMatch(exported.stdout, /CLM-OTHER|party-70/)

  const args = ['--party', 'party-7']
  const before = await allButReplicas()
  t.match(before, /THE-SECRET/)
  t.match(await erase(...args, '--dry-run'), {
    code: 0,
    stdout:
      /^Dry run: would erase 2 log entries .*1 set of preferences and 1 preference change, 1 rejected message of party-7\n1 rejected message without.*\nNot erased: 2 places with party-7 /,
  })
  const { unclear } = JSON.parse((await erase(...args, '--dry-run', '--json')).stdout)
  t.match(await erase(...args), { code: 2, stdout: '', stderr: /use --yes$/m })
  t.match(await command(['erase', ...args], { DATABASE_URL: world.databaseUrl }, 'n'), {
    code: 1,
    stdout: /^Not confirmed: would erase 2 log entries/,
  })
  t.equal(await allButReplicas(), before, 'before it is told that it may, it changes nothing')

  t.match(await erase(...args, '--message', ...unclear, '--yes', '--by', 'dpo', '--json'), {
    code: 0,
    stderr: '',
  })
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
      log_entries: 3,
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
  const readNote = async () =>
    (await world.sql('SELECT note FROM notifications.request WHERE ended_at IS NULL'))[0]?.note
  t.equal(
    await until(readNote, { what: 'the note' }),
    'tries again: an `erase`, a `prune`, a `replay --rebuild` or a dismissal is running',
  )
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
    // An id that is her locator.
    { eventId: 'party.5' },
  ].map(retry)
  const byName: readonly RequestTarget[] = [
    { kind: 'retry', target: { locators: [otherLocator, locator] } },
    { kind: 'dismiss', target: { ids: [message?.id] } },
  ]
  const ofOthers: readonly RequestTarget[] = [
    ...[
      { partyLocator: 'party.50' },
      { reference: 'CLM-50' },
      { reason: 'party-5' },
      // Of another member, and of all events of a type, though they are called as her claim or event.
      { partyLocator: 'CLM-5' },
      { eventType: event.eventId },
      {},
    ].map(retry),
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
  for (const because of [
    "party.5's husband called",
    `${event.eventId} is wrong`,
    'look at "CLM-5".',
    'CLM-5\u2019s file',
  ])
    asked.push(await addRequest(pool, retry({}), 'o', because))
  for (const target of ofOthers)
    await addRequest(pool, target, 'o', `party.50 called: CLM-5/2, CLM-50, x-${event.eventId}`)
  await world.sql(`
    TRUNCATE notifications.checkpoint_change;
    INSERT INTO notifications.checkpoint_change (topic, partition_id, to_offset, changed_by, because)
      VALUES ('claims', 0, 1, 'o', 'CLM-5, again'), ('claims', 0, 1, 'o', 'CLM-5/2, again')`)
  const requests = (isHers: boolean) =>
    world.sql(
      `SELECT kind, target, because, state, counts FROM notifications.request WHERE id = ANY($1::bigint[]) = $2 ORDER BY id`,
      [asked, isHers],
    )
  const unclear = await addRequest(
    pool,
    { kind: 'retry', target: { locators: [otherLocator] } },
    'o',
    'party.5/2 called',
  )
  const others = await requests(false)
  // As the end of a hold leaves it.
  await world.sql(`UPDATE notifications.request SET note = 'resumed by o: party.5 called' WHERE id = $1`, [
    asked[1],
  ])
  // Each decision of a request has a copy of its reason.
  await world.sql(
    `UPDATE notifications.decision SET request_id = $1, retried_by = 'o', retried_because = 'she called' WHERE locator = ANY($2)`,
    [asked[0], [locator, otherLocator]],
  )

  const args = ['--party', 'party.5']
  t.match(await erase(...args, '--dry-run'), {
    stdout: new RegExp(`, ${asked.length} requests, [^]*\nNot erased: 1 place .*: request:${unclear}\\.`),
  })
  t.match(await erase(...args, '--yes'), { stdout: new RegExp(`, ${asked.length} requests, `) })
  const hers = await requests(true)
  for (const { kind, target, because } of hers) {
    t.equal(because, 'erased')
    t.notMatch(JSON.stringify(target), /party\.5|CLM-5/)
    t.strictSame(requestTarget.parse({ kind, target }), { kind, target }, 'it can be read as before')
  }
  const states = byFilter.flatMap(() => ['cancelled', 'done'])
  t.strictSame(
    hers.map(({ state }) => state),
    [
      ...states,
      ...byName.flatMap(() => ['waiting', 'done']),
      ...['waiting', 'waiting', 'waiting', 'waiting'],
    ],
  )
  t.equal(hers.filter(({ counts }) => counts.SENT === 1).length, byFilter.length + byName.length)
  t.strictSame(await requests(false), others)
  t.strictSame(await world.sql('SELECT because FROM notifications.checkpoint_change ORDER BY id'), [
    { because: 'erased' },
    { because: 'CLM-5/2, again' },
  ])
  t.strictSame(await world.sql(`SELECT note FROM notifications.request WHERE note ~ 'party.5 called'`), [])
  const readCopies = () =>
    world.sql('SELECT DISTINCT retried_because FROM notifications.decision WHERE request_id IS NOT NULL')
  t.strictSame(await readCopies(), [{ retried_because: 'erased' }])
  t.comment('an erasure that was killed before it came to the copies is completed by any other')
  await world.sql(
    `UPDATE notifications.decision SET retried_because = 'she called' WHERE request_id IS NOT NULL`,
  )
  await world.sql(`UPDATE notifications.request SET because = 'being erased' WHERE id = $1`, [asked[0]])
  await erase('--party', 'party-of-nobody', '--yes')
  t.strictSame(await readCopies(), [{ retried_because: 'erased' }])
  t.strictSame(await requests(true), hers)
  t.match(await erase(...args, '--yes'), {
    stdout: new RegExp(`^Nothing left to erase.*\\nNot erased: 1 place .*: request:${unclear}\\.`),
  })
  const readUnclear = () => world.sql('SELECT because FROM notifications.request WHERE id = $1', [unclear])
  t.strictSame(await readUnclear(), [{ because: 'party.5/2 called' }])
  t.match(await erase(...args, '--message', `request:${unclear}`, '--yes'), { stdout: /, 1 request, / })
  t.strictSame(await readUnclear(), [{ because: 'erased' }])
})

t.test(
  'no text of any table names the person afterwards, but those that the command says stay',
  async (t) => {
    const party = 'party-4'
    const service = await world.serve()
    const [sent, refused] = [anEvent({ partyLocator: party }), anEvent({ partyLocator: party })]
    await world.publish([sent, refused])
    await world.caughtUp()
    await putPreferences(service.url, party, CONTACT)
    await service.stop()
    const text = `her member number ${party} (${party}-2 is another's)`
    const to = '2026-01-01T00:00:00.000000Z'
    await world.sql(`
    TRUNCATE notifications.request, notifications.rejected_message, notifications.redrive, notifications.checkpoint_change;
    INSERT INTO notifications.rejected_message (id, topic, partition_id, "offset", headers, code, error) OVERRIDING SYSTEM VALUE
      VALUES (1, 'claims', 0, 1, '{}', 'c', 'e'), (2, 'claims', 0, 2, '{}', 'c', 'e'), (3, 'claims', 0, 3, '{}', 'c', 'e'),
        (4, 'claims', 0, 4, '{}', 'c', 'e');
    UPDATE notifications.rejected_message SET value = 'of ${party}-2' WHERE id = 3;
    UPDATE notifications.rejected_message SET value = '{"partyLocator": "another"}' WHERE id = 4;
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, error)
      VALUES (2, 'o', 'dismissed', 'e'), (2, 'o', 'dismissed', 'e'), (4, 'o', 'dismissed', '${party}-2 called'), (4, 'o', 'dismissed', 'e');
    INSERT INTO notifications.request (kind, target, requested_by, because, state, ended_at)
      VALUES ('retry', '{}', 'o', 'b', 'done', now());
    INSERT INTO notifications.preference_change (party_locator, changed_by, after) VALUES ('${party}-2', '${party}', '{}');
    INSERT INTO notifications.checkpoint_change (topic, partition_id, to_offset, changed_by, because)
      VALUES ('claims', 0, 1, 'o', 'b');
    UPDATE notifications.decision SET request_id = (SELECT id FROM notifications.request), retried_by = 'o', retried_because = 'b'
      WHERE party_locator = '${party}';
    UPDATE notifications.decision SET receipt = NULL, send_error = 'e' WHERE event_id = '${refused.eventId}'`)
    const textIn = (name: string) => `${text} in ${name}`
    /** Values that are no plain text, and the row of those that are not in the row of the person, or in any. */
    const VALUES: Readonly<Record<string, { toValue?: (text: string) => unknown; where?: string }>> = {
      'request.target': {
        toValue: (text) => ({ filter: { partyLocator: party, reference: party, reason: text, to } }),
      },
      'rejected_message.headers': {
        toValue: (text) => ({ h: [Buffer.from(text).toString('base64')] }),
        where: 'id = 1',
      },
      'rejected_message.key': { toValue: (text) => Buffer.from(text), where: 'id = 1' },
      'rejected_message.value': { toValue: (text) => Buffer.from(text), where: 'id = 1' },
      'rejected_message.error': { where: 'id = 2' },
      'redrive.error': { where: 'id = (SELECT min(id) FROM notifications.redrive)' },
      'preference_change.before': {
        toValue: (email) => ({ email, phone: null, preferredChannel: 'EMAIL', optedOutEvents: [] }),
      },
      'preference_change.after': {
        toValue: (email) => ({ email, phone: null, preferredChannel: 'EMAIL', optedOutEvents: [] }),
      },
      'preference_change.changed_by': { toValue: () => party },
      'decision.receipt': { where: `event_id = '${sent.eventId}'` },
      'decision.send_error': { where: `event_id = '${refused.eventId}'` },
      'decision.variables': { toValue: (reason) => ({ reason }) },
    }
    const columns = await world.sql(`
    SELECT table_name AS "table", column_name AS "column", data_type AS type FROM information_schema.columns
    WHERE table_schema = 'notifications' AND data_type IN ('text', 'jsonb', 'json', 'bytea', 'character varying')
      AND is_generated = 'NEVER' ORDER BY 1, 2`)
    const names = columns.map(({ table, column }) => `${table}.${column}`)
    const kept = Object.values(STAYS).flat()
    t.strictSame(
      kept.filter((name) => !names.includes(name)),
      [],
      'all are columns',
    )
    const blanked = columns.filter(({ table, column }) => !kept.includes(`${table}.${column}`))
    for (const { table, column, type } of blanked) {
      const { toValue = (text: string) => text, where } = VALUES[`${table}.${column}`] ?? {}
      const value = toValue(textIn(`${table}.${column}`))
      const ofPerson = names.includes(`${table}.party_locator`) ? `party_locator = '${party}'` : 'true'
      const done = await world.sql(
        `UPDATE notifications.${table} SET ${column} = $1 WHERE ${where ?? ofPerson} RETURNING 1`,
        [type === 'jsonb' ? JSON.stringify(value) : value],
      )
      t.equal(done.length > 0, true, `${table}.${column} has the text`)
    }
    const named = () =>
      Promise.all(
        blanked.map(async ({ table, column, type }) => {
          const shown = type === 'bytea' ? `encode(${column}, 'escape')` : `${column}::text`
          const [found] = await world.sql(
            `SELECT count(*)::int FROM notifications.${table} WHERE ${shown} ~ 'number ${party} |"${party}"|^${party}$|${Buffer.from(text).toString('base64').slice(0, 40)}'`,
          )
          return found?.count > 0 ? [`${table}.${column}`] : []
        }),
      )
    t.equal((await named()).flat().length, blanked.length)
    const exported = await command(['export', '--party', party, '--message', '1'], {
      DATABASE_URL: world.databaseUrl,
    })
    t.match(exported, { code: 0, stderr: /Not printed, since they may be another member's: 3 4\./ })
    const shown = blanked.map(({ table, column }) => `${table}.${column}`)
    t.strictSame(
      shown.filter((name) => !exported.stdout.includes(JSON.stringify(textIn(name)).slice(1, -1))),
      ['preference_change.changed_by'],
      'what is erased is exported',
    )
    t.match(jsonLines(exported.stdout), [
      { kind: 'request', action: 'retry' },
      { kind: 'checkpointChange' },
      { kind: 'preferences' },
      { kind: 'preferenceChange', changedBy: party },
      { kind: 'changeForAnother', partyLocator: `${party}-2`, changedAt: String },
      { kind: 'rejectedMessage', id: '1' },
      { kind: 'rejectionReason', id: '2' },
      { kind: 'logEntry' },
      { kind: 'logEntry' },
    ])
    t.match(await erase('--party', party, '--yes'), {
      code: 0,
      stdout:
        /, reasons noted for 1 other rejected message of party-4\n.*\nNot erased: 3 places with party-4 .* `rejected show`.* --message <id…>`\n.*What stays: /,
    })
    const left = () =>
      world.sql('SELECT id::int FROM notifications.rejected_message WHERE value IS NOT NULL ORDER BY id')
    t.strictSame(await left(), [{ id: 1 }, { id: 3 }, { id: 4 }])
    t.match(await erase('--party', party, '--message', '1', '3', '4', '99', '--yes'), {
      code: 0,
      stdout:
        / 2 rejected messages, reasons noted for 1 other rejected message of .*\nNot erased: 99, .* party-4/s,
    })
    t.strictSame((await named()).flat(), [])
    t.strictSame(
      await left(),
      [{ id: 4 }],
      'somebody has looked, and a message that only a reason of hers is about stays',
    )
    t.notMatch(await everything(world.sql), 'party-4-2 called')
  },
)

/** Columns that an erasure leaves as they are, by the reason. */
const STAYS: Readonly<Record<string, readonly string[]>> = {
  'the locator itself': [
    'notification_log.party_locator',
    'notification_preferences.party_locator',
    'preference_change.party_locator',
    'decision.party_locator',
    'erasure.party_locator',
  ],
  'the event, by its id and type': [
    ...['notification_log.event_id', 'notification_log.event_type'],
    ...['decision.event_id', 'decision.event_type'],
  ],
  'opt-outs and the preferred channel': [
    'notification_preferences.opted_out_events',
    'notification_preferences.preferred_channel',
  ],
  'ids, hashes and words of the service': [
    ...['locator', 'channel', 'status', 'failure_reason'].map((name) => `notification_log.${name}`),
    ...['locator', 'outcome', 'channel', 'rule_id', 'reason', 'facts'].map((name) => `decision.${name}`),
    ...['template_revision', 'rule_table_revision', 'envelope_map_revision', 'trace_id'].map(
      (name) => `decision.${name}`,
    ),
    ...['rejected_message.code', 'rejected_message.erased_sha256'],
    ...['redrive.result', 'redrive.locator', 'redrive.code', 'replica.troubles'],
    ...['kind', 'state', 'progress', 'counts', 'unchanged'].map((name) => `request.${name}`),
    ...[
      'migration.name',
      'migration.checksum',
      'rule_table_activation.revision',
      'checkpoint_message.sha256',
      'replica.group_id',
      'replica.rule_table_revision',
    ],
  ],
  topics: [
    'decision',
    'rejected_message',
    'projection_checkpoints',
    'checkpoint_message',
    'checkpoint_change',
    'pruned_partition',
  ].map((table) => `${table}.topic`),
  'names of operators': [
    ...['decision.retried_by', 'redrive.redriven_by', 'request.requested_by', 'checkpoint_change.changed_by'],
    ...['checkpoint_change.database_user', 'erasure.erased_by', 'pruning.pruned_by'],
  ],
  'rule tables and texts': [
    ...['ruleset.revision', 'ruleset.source', 'envelope_map.revision', 'envelope_map.source'],
    ...['template_revision.revision', 'template_revision.name', 'template_revision.source'],
    ...['rule_table_activation.git_commit', 'rule_table_activation.git_subject'],
  ],
}
