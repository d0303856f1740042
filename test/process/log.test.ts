import { parse } from 'csv-parse/sync'
import t from 'tap'
import { openDatabase } from '../service/store/fixtures.ts'
import { record, UNRESOLVED } from '../service/store/record.ts'
import { command, jsonLines } from './command.ts'

const { url, pool, client } = await openDatabase(t)
const run = (args: string[], env = {}) => command(args, { DATABASE_URL: url, ...env })
const notTold = (args: string[], env = {}) => run(['log', '--not-told', ...args], env)

t.before(async () => {
  await record(pool, [
    { eventId: 'failed', contact: UNRESOLVED },
    { eventId: '=SUM(A1)', partyLocator: '@party, "1"', contact: { state: 'not found' } },
  ])
})

t.test('log --not-told lists the parties that got no message, with the reason', async (t) => {
  t.match(await notTold([]), {
    code: 0,
    stdout: /^\S+Z {2}NTF-\S+ {2}SKIPPED \(party not found\): claim\.paid about CLM-1 for @party, "1"\n$/,
    stderr: /^1 entry since \S+Z\n$/,
  })
})

t.test('the environment decides which entries are given up', async (t) => {
  const none = { RETRY_MAX_ATTEMPTS: '0' }
  const lines = jsonLines((await notTold(['--json'], none)).stdout)
  t.strictSame(lines.map(({ eventId }) => eventId).sort(), ['=SUM(A1)', 'failed'])
  t.match(
    lines.find(({ eventId }) => eventId === 'failed'),
    { status: 'FAILED', givenUp: true, failureReason: /HTTP 500/ },
  )
  t.match((await notTold([], none)).stdout, /FAILED, given up \(.*HTTP 500\): /)
})

t.test('the CSV is complete, and contains no formulas for a spreadsheet', async (t) => {
  const { code, stdout, stderr } = await notTold(['--csv', '--since', '2020-01-01'])
  t.strictSame({ code, stderr }, { code: 0, stderr: '' })
  const skipped = { status: 'SKIPPED', failureReason: 'party not found', givenUp: 'false' }
  const guarded = { eventId: "'=SUM(A1)", partyLocator: `'@party, "1"` }
  const shown = { reference: 'CLM-1', because: /^Policy administration does not know the member/ }
  t.match(parse(stdout, { columns: true }), [{ ...guarded, ...skipped, ...shown }])
})

t.test('an unknown rule is refused with the nearest; an unknown event type causes a note', async (t) => {
  t.match(await notTold(['--rule', 'party-not-fuond']), {
    code: 2,
    stdout: '',
    stderr: 'no rule table has ever had a rule "party-not-fuond"; did you mean "party-not-found"?\n',
  })
  const filters = [
    ['--rule', 'party-not-found', /^1 entry/],
    ['--reason', 'party not found', /^1 entry/],
    ['--reason', 'party', /^1 entry/],
    ['--reason', 'not found', /^`log <name>` finds similar names\n0 entries/],
    [
      '--event-type',
      'claim.payed',
      /^there is no template for "claim.payed"; did you mean "claim.paid"\?\n0 entries/,
    ],
  ] as const
  for (const [name, value, stderr] of filters)
    t.match(await notTold([name, value]), { code: 0, stderr }, value)
})

t.test('without --not-told every entry is listed, and filters can be combined', async (t) => {
  const all = async (...args: string[]) =>
    jsonLines((await run(['log', '--json', ...args])).stdout).map(({ eventId }) => eventId)
  t.strictSame((await all()).sort(), ['=SUM(A1)', 'failed'])
  t.strictSame(await all('--status', 'FAILED'), ['failed'])
  t.strictSame(await all('--event-id', 'failed'), ['failed'])
  t.strictSame(await all('--channel', 'IN_APP'), [])
  t.strictSame(await all('--request', '7'), [])
  t.strictSame(await all('--party', '@party, "1"', '--until', '1h'), [])
  t.strictSame(await all('--member', '@party, "1"', '--from', '1h', '--to', '2100-01-01'), ['=SUM(A1)'])
  const today = new Date().toISOString().slice(0, 10)
  t.equal((await all('--until', today)).length, 2, 'a day as an end means its end')
  t.strictSame(await all('--status', 'Failed', '--limit', '1'), ['failed'])
  t.equal((await all('--limit', '1')).length, 1)
  t.match((await run(['log', '--limit', '1'])).stderr, /^1 entry since .*Z, the newest: there are more$/m)
  t.match((await run(['log', '--limit', '3'])).stderr, /^2 entries since [^,]*Z$/m)
})

t.test('replay names differences with exit code 1, and corrects them on request', async (t) => {
  const [locator] = await record(pool, [{ eventId: 'a' }])
  await client.query(`DELETE FROM notifications.notification_log WHERE event_id = 'a'`)
  t.strictSame(await run(['replay', '--verify', '--json']), {
    code: 1,
    stdout:
      `{"kind":"missing","locator":"${locator}","eventId":"a"}\n` +
      '{"kind":"summary","entries":3,"erased":0,"differences":1,"restored":0,"left":1}\n',
    stderr: '',
  })
  t.match(await run(['replay', '--rebuild']), {
    code: 0,
    stdout: /: 1 difference, 1 row restored, 0 left\n$/,
  })
  const sound = { code: 0, stdout: '3 entries compared: no difference\n', stderr: '' }
  t.strictSame(await run(['replay', '--verify']), sound)
})

t.test('the list marks a message that was only recorded by a placeholder', async (t) => {
  await record(pool, [{ eventId: 'recorded' }])
  const marked = async (change: string) => {
    await client.query(`UPDATE notifications.decision SET ${change} WHERE event_id = 'recorded'`)
    return (await run(['log', '--status', 'SENT'])).stdout.includes('SENT, recorded only: claim.paid ')
  }
  t.equal(await marked(`receipt = 'recorded:EMAIL:1'`), false, 'a transport may have such a receipt')
  t.equal(await marked(`recorded_only = true`), true)
  t.equal(await marked(`receipt = 'erased', variables = NULL, erased_at = now()`), true)
  t.equal(await marked(`recorded_only = NULL`), false, 'an erasure left nothing else in version 1.0')
  t.equal(await marked(`receipt = 'recorded:EMAIL:1', erased_at = NULL`), true, 'a row of version 1.0')
})

t.test('log and why take any name, and say what is similar to a name that nothing has', async (t) => {
  await client.query(
    `UPDATE notifications.notification_log SET created_at = '2020-01-31' WHERE event_id = 'failed'`,
  )
  await client.query(
    `INSERT INTO notifications.notification_preferences (party_locator, opted_out_events, preferred_channel)
     SELECT unnest(ARRAY['party-1', '@party, "1"']), '[]', 'EMAIL'`,
  )
  const NOTHING = /^nothing in the log is called ".*"\n.* members, .*\n.*, or all of it. `log .*\n$/
  const NAMED = [
    ['log', 'party-1', 0, /FAILED.* for party-1\n$/, /^3 entries\n$/],
    ['log', 'CLM-1', 0, /^(.*\n){3}$/, /^3 entries\n$/],
    ['log', 'PARTY-1', 1, /^$/, /^nothing .*; similar: the member party-1, the member @party, "1"\n$/],
    ['log', 'clm1', 0, /CLM-1/, /^no exact match for "clm1": this is for the reference CLM-1\n3 entries\n$/],
    ['log', 'failed', 0, /FAILED/, /^1 entry\n$/],
    ['log', 'nobody', 1, /^$/, NOTHING],
    [
      'log',
      'Claim Paid',
      0,
      /^(.*\n){4}$/,
      /^no exact match .*: this is for the event type claim.paid\n4 entries\n$/,
    ],
    ['log', 'Not Found', 1, /^$/, /^nothing .* "Not Found"; similar: the reason party not found\n$/],
    ['log', 'arty 1', 1, /^$/, /^nothing .* "arty 1"; similar: the member .*party-1.*\n$/],
    ['log', 'claim', 1, /^$/, /^nothing .* "claim"; similar: the event type claim.\w+, .*, …\n$/],
    ['why', '@party, "1"', 0, /party-not-found/, /^$/],
    ['why', 'failed', 0, /failed/, /^$/],
    ['why', 'CLM-1', 0, /^(.*\n){3}$/, /^the reference CLM-1 has 3 entries\. Give one locator, NTF-…\n$/],
    ['why', 'clm-2', 1, /^$/, NOTHING],
  ] as const
  for (const [command, name, code, stdout, stderr] of NAMED)
    t.match(await run([command, name]), { code, stdout, stderr }, `${command} ${name}`)
  for (const [filter, name] of [
    ['--member', 'PARTY-1'],
    ['--reference', 'clm-1'],
  ] as const)
    t.match(
      (await run(['log', filter, name])).stderr,
      /^`log <name>` finds similar names\n0 entries since /,
      name,
    )
})

t.test('an export has all entries and changes of a member, however many', async (t) => {
  await record(
    pool,
    Array.from({ length: 201 }, (_, i) => ({ eventId: `many-${i}`, partyLocator: 'party-many' })),
  )
  await client.query(
    `INSERT INTO notifications.preference_change (party_locator, before, after)
    SELECT 'party-many', NULL, '{"email":null,"phone":null,"preferredChannel":"SMS","optedOutEvents":[]}'
    FROM generate_series(1, 201)`,
  )
  const { stdout } = await run(['export', '--party', 'party-many'])
  const kinds = Map.groupBy(jsonLines(stdout), ({ kind }) => kind)
  t.match(
    kinds,
    new Map([
      ['logEntry', { length: 201 }],
      ['preferenceChange', { length: 201 }],
    ]),
  )
})
