import t from 'tap'
import { OPTED_OUT, somePreferences } from '../core/build.ts'
import { openDatabase } from '../postgres/fixtures.ts'
import { record, ruleTable, UNRESOLVED } from '../postgres/record.ts'
import '../stack/record-recipients.ts'
import { startPolicyAdministration } from '../stack/policy-administration.ts'
import { command } from './command.ts'
import { everything } from './rows.ts'

const [{ url, client, pool }, parties] = await Promise.all([openDatabase(t), startPolicyAdministration()])
t.teardown(() => parties.stop())
const env = { DATABASE_URL: url, MQ_BROKERS: '127.0.0.1:1', POLICY_ADMIN_URL: parties.url }
const BECAUSE = ['--because', 'an outage', '--by', 'alice', '--yes']
const NOT_FOUND = { contact: { state: 'not found' } } as const

const retry = (...args: string[]) => command(['retry', ...args], env)
const jsonOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
const rowsOf = async (sql: string, values: unknown[] = []) => (await client.query(sql, values)).rows
const rowOf = async (locator: string) =>
  (await rowsOf('SELECT * FROM notifications.notification_log WHERE locator = $1', [locator]))[0]
const decisionsOf = (locator: string) =>
  rowsOf('SELECT * FROM notifications.decision WHERE locator = $1 ORDER BY attempt', [locator])
const allTables = () => everything(rowsOf)
const recorded = async (...given: Parameters<typeof record>[1]) => (await record(pool, given)).map(String)

/** The idempotency keys of the messages that senders were handed since the last call. */
let handedOver: string[] = []
Object.assign(globalThis, {
  recordRecipients: (_: string, messages: readonly { idempotencyKey: string }[]) =>
    handedOver.push(...messages.map(({ idempotencyKey }) => idempotencyKey)),
})
function takeKeys(): string[] {
  const keys = handedOver.sort()
  handedOver = []
  return keys
}

/** Gives up these rows: failed, after three attempts. */
async function giveUp(...locators: string[]): Promise<void> {
  for (const [table, column] of [
    ['notification_log', 'attempt_count'],
    ['decision', 'attempt'],
  ])
    await client.query(`UPDATE notifications.${table} SET ${column} = 3 WHERE locator = ANY($1)`, [locators])
}

t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.erasure,
      notifications.projection_checkpoints, notifications.notification_preferences`)
})

t.test('retry requires a selection, a reason and a confirmation', async (t) => {
  const locator = 'NTF-01900000-0000-7000-8000-000000000001'
  await recorded({ eventId: 'skipped', ...NOT_FOUND })
  const before = await allTables()
  const wrong = [
    [BECAUSE, /give locators, or --since/],
    [['--since', '1d', '--yes'], /give --because/],
    [[locator, '--since', '1d', ...BECAUSE], /not both/],
    [['CLM-1', ...BECAUSE], /A locator is NTF- and a UUID/],
    [[locator, ...BECAUSE], `no log entry has the locator ${locator}`],
    [['--since', '1d', '--because', 'x'], /use --yes/],
  ] as const
  for (const [args, stderr] of wrong) t.match(await retry(...args), { code: 2, stderr })
  t.equal(await allTables(), before)
})

t.test('a dry run reports the result of each entry, sends nothing and writes nothing', async (t) => {
  const [givenUp = '', skipped, optedOut, waiting = ''] = await recorded(
    { eventId: 'given-up', contact: UNRESOLVED },
    { eventId: 'skipped', ...NOT_FOUND },
    { eventId: 'opted-out', partyLocator: 'party-2', preferences: OPTED_OUT },
    { eventId: 'waiting', contact: UNRESOLVED },
    { eventId: 'sent' },
  )
  await giveUp(givenUp)
  await client.query(
    `INSERT INTO notifications.notification_preferences VALUES ('party-2', null, null, 'EMAIL', '["claim.paid"]')`,
  )
  await client.query('TRUNCATE notifications.template_revision')
  const before = await allTables()
  const { code, stdout, stderr } = await retry('--since', '1d', '--dry-run')
  const lines = [`${givenUp}  SENT by EMAIL`, `${skipped}  SENT by EMAIL`]
  t.equal(code, 0)
  t.same(
    stdout.trimEnd().split('\n').sort(),
    [...lines, `${optedOut}  SKIPPED (event type opted out)`].sort(),
  )
  t.equal(stderr, 'Dry run: 2 would be SENT, 0 FAILED, 1 SKIPPED, 0 not retried\n')
  t.match((await retry(waiting, '--dry-run')).stdout, /not retried: the service still retries it by itself/)
  t.equal(await allTables(), before)
  t.same(takeKeys(), [])
})

t.test('entries are decided again and sent once, and the results are reported', async (t) => {
  const [givenUp = '', skipped = '', sent = ''] = await recorded(
    { eventId: 'given-up', contact: UNRESOLVED },
    { eventId: 'skipped', ...NOT_FOUND, eventType: 'claim.rejected', reason: 'late' },
    { eventId: 'sent' },
  )
  await giveUp(givenUp)
  await client.query(`UPDATE notifications.notification_log SET subject = 'Stored' WHERE locator = $1`, [
    givenUp,
  ])
  const stderr = '2 SENT, 0 FAILED, 0 SKIPPED, 0 not retried\n'
  t.match(await retry('--since', '1d', ...BECAUSE), { code: 0, stderr })
  t.same(takeKeys(), ['given-up/1', 'skipped/1'])
  t.match(await rowOf(givenUp), { status: 'SENT', attempt_count: 4, subject: 'Stored' })
  t.match(await rowOf(skipped), {
    status: 'SENT',
    attempt_count: 1,
    failure_reason: null,
    body: /CLM-1.*late/s,
  })
  const variables = { eventType: 'claim.rejected', locator: 'CLM-1', reason: 'late' }
  t.match(await decisionsOf(skipped), [
    { attempt: 0, outcome: 'SKIP', retried_by: null, template_revision: null },
    {
      ...{ attempt: 1, outcome: 'SEND', receipt: String, retried_by: 'alice', retried_because: 'an outage' },
      ...{ variables, template_revision: /^[0-9a-f]{64}$/, topic: 'claims' },
    },
  ])
  const why = await command(['why', skipped], { DATABASE_URL: url })
  t.match(why.stdout, /retry 1: SEND by EMAIL .*\n {2}retried by alice: an outage\n/)

  const again = await retry(givenUp, sent, '--json', ...BECAUSE)
  t.equal(again.code, 1, 'what was named was not retried')
  t.match(jsonOf(again.stdout), Array(2).fill({ result: 'refused', error: 'it was sent' }))
  t.same(takeKeys(), [])
})

t.test('filters choose by time, event type, rule and reason', async (t) => {
  const preferences = somePreferences({ optedOutEvents: new Set(['claim.approved']) })
  const [older = '', newer = '', other = ''] = await recorded(
    { eventId: 'older', ...NOT_FOUND },
    { eventId: 'newer', ...NOT_FOUND },
    { eventId: 'other', eventType: 'claim.approved', preferences },
  )
  await client.query(
    `UPDATE notifications.notification_log SET created_at = now() - interval '2 days' WHERE locator = $1`,
    [older],
  )
  const choices: readonly [args: string, chosen: string[]][] = [
    ['--since 3d --until 1d', [older]],
    ['--since 1d --rule party-not-found', [newer]],
    ['--since 3d --event-type claim.approved', [other]],
  ]
  for (const [args, chosen] of choices) {
    const { stdout } = await retry(...args.split(' '), '--dry-run', '--json')
    t.same(
      jsonOf(stdout).map(({ locator }) => locator),
      chosen,
      args,
    )
  }
  const { stdout } = await retry('--since', '3d', '--reason', 'party not', '--dry-run')
  t.equal(stdout.trimEnd().split('\n').length, 2)
})

t.test('a message keeps its idempotency key unless the last attempt certainly sent nothing', async (t) => {
  const locators = await recorded(
    { eventId: 'refused', sendError: 'no mailbox' },
    { eventId: 'unknown', sendError: 'no answer' },
  )
  await giveUp(...locators)
  await client.query(`UPDATE notifications.decision SET unknown_attempt = 1 WHERE event_id = 'unknown'`)
  t.match(await retry('--since', '1d', ...BECAUSE), {
    code: 0,
    stdout: `${locators[1]}  SENT by EMAIL; it may have gone out before, under the same key\n`,
    stderr: /^2 SENT, 0 FAILED/,
  })
  t.same(takeKeys(), ['refused/2', 'unknown/1'])
})

t.test('a rule table that did not make the newest decision retries nothing', async (t) => {
  const [locator = ''] = await recorded({ eventId: 'skipped', ...NOT_FOUND }, { eventId: 'newest' })
  const { revision } = await ruleTable()
  const other = 'a'.repeat(64)
  const decideNewest = (by: string) =>
    client.query(
      `UPDATE notifications.decision SET rule_table_revision = $1, decided_at = decided_at + interval '1 s'
      WHERE event_id = 'newest'`,
      [by],
    )
  t.teardown(() => client.query('TRUNCATE notifications.rule_table_activation'))
  await client.query(`INSERT INTO notifications.ruleset VALUES ($1, '')`, [other])
  await client.query(
    'INSERT INTO notifications.rule_table_activation (revision, activated_at) VALUES ($1, now())',
    [other],
  )
  t.match(await retry(locator, '--dry-run'), { code: 0 }, 'a start puts nothing in force')
  await decideNewest(other)
  const refused = {
    code: 1,
    stdout: '',
    stderr: new RegExp(
      `^rule table ${revision} of this version .* ${other} .*Use the version that is running`,
    ),
  }
  t.match(await retry(locator, ...BECAUSE), refused)
  t.match(await retry(locator, '--dry-run'), refused)
  t.match(await command(['rejected', 'redrive', '--all', '--yes'], env), refused)
  t.match(await rowOf(locator), { status: 'SKIPPED', attempt_count: 0 })
  await decideNewest(revision)
  t.match(await retry(locator, ...BECAUSE), { code: 0, stdout: /SENT by EMAIL/ })
})

t.test('entries given by locator are retried in pages', async (t) => {
  const locators = await recorded(
    ...Array.from({ length: 501 }, (_, i) => ({ eventId: `event-${i}`, contact: UNRESOLVED })),
  )
  await giveUp(...locators)
  const { stdout } = await retry(...locators, '--dry-run', '--json')
  t.same(new Set(jsonOf(stdout).map(({ locator }) => locator)), new Set(locators))
})

t.test('entries that do not fit into one page are all retried once, by filter and by locator', async (t) => {
  const reason = 'x'.repeat(1_000_000)
  const given = Array.from({ length: 11 }, (_, i) => ({ eventId: `large-${i}`, ...NOT_FOUND, reason }))
  for (const select of [() => ['--since', '1d'], (locators: readonly string[]) => locators]) {
    await client.query(`
      TRUNCATE notifications.notification_log, notifications.decision, notifications.projection_checkpoints`)
    const locators = await recorded(...given)
    takeKeys()
    const { code, stdout, stderr } = await retry(...select(locators), ...BECAUSE, '--json')
    t.match({ code, stderr }, { code: 0, stderr: '11 SENT, 0 FAILED, 0 SKIPPED, 0 not retried\n' })
    t.same(
      jsonOf(stdout)
        .map(({ locator }) => locator)
        .sort(),
      locators.toSorted(),
    )
    t.equal(new Set(takeKeys()).size, 11)
  }
})
