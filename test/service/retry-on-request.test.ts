import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { named } from '../../src/commands/retry.ts'
import type { LogPosition } from '../../src/core/log/log-page.ts'
import { OPTED_OUT, somePreferences } from '../core/build.ts'
import { openDatabase } from '../postgres/fixtures.ts'
import { record, retryAll, ruleTable, UNRESOLVED } from '../postgres/record.ts'
import { startPolicyAdministration } from '../stack/policy-administration.ts'
import { command } from './command.ts'

const [{ url, client, pool }, parties] = await Promise.all([openDatabase(t), startPolicyAdministration()])
t.teardown(() => parties.stop())
const PROVIDER = fileURLToPath(new URL('provider.ts', import.meta.url))
const SENT_KEYS = join(t.testdir(), 'sent-keys')
const env = {
  DATABASE_URL: url,
  MQ_BROKERS: '127.0.0.1:1',
  POLICY_ADMIN_URL: parties.url,
  NODE_OPTIONS: `--import=${PROVIDER}`,
  SENT_KEYS,
}
const retry = (args: string[], more: Record<string, string> = {}) =>
  command(['retry', ...args], { ...env, ...more })
const rowsOf = async (sql: string, values: unknown[] = []) => (await client.query(sql, values)).rows
const rowOf = async (locator: string | undefined) =>
  (await rowsOf('SELECT * FROM notifications.notification_log WHERE locator = $1', [locator]))[0]
const decisionsOf = (locator: string | undefined) =>
  rowsOf('SELECT * FROM notifications.decision WHERE locator = $1 ORDER BY attempt', [locator])
const sentKeys = async () => (await readFile(SENT_KEYS, 'utf8').catch(() => '')).split('\n').filter(Boolean)
const BECAUSE = ['--because', 'an outage', '--by', 'alice', '--yes']

/** All of the schema as text. */
async function everything(): Promise<string> {
  const tables = await rowsOf(
    `SELECT table_name FROM information_schema.tables WHERE table_schema = 'notifications' ORDER BY 1`,
  )
  const texts = []
  for (const { table_name } of tables) {
    texts.push(
      ...(await rowsOf(`SELECT row::text AS text FROM notifications.${table_name} AS row ORDER BY 1`)),
    )
  }
  return texts.map(({ text }) => text).join('\n')
}

/** Rows that were given up: failed, and three attempts made. */
async function giveUp(...locators: (string | undefined)[]): Promise<void> {
  await client.query('UPDATE notifications.notification_log SET attempt_count = 3 WHERE locator = ANY($1)', [
    locators,
  ])
  await client.query('UPDATE notifications.decision SET attempt = 3 WHERE locator = ANY($1)', [locators])
}

t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.erasure,
      notifications.projection_checkpoints, notifications.notification_preferences`)
})

t.test('retry does nothing before it is told what, why, and that it may', async (t) => {
  const locator = 'NTF-01900000-0000-7000-8000-000000000001'
  await record(pool, [{ eventId: 'skipped', contact: { state: 'not found' } }])
  const before = await everything()
  const wrong = [
    [BECAUSE, /give locators, or --since/],
    [['--since', '1d', '--yes'], /give --because/],
    [[locator, '--since', '1d', ...BECAUSE], /not both/],
    [['CLM-1', ...BECAUSE], /a locator is NTF- and a UUID/],
    [[locator, ...BECAUSE], `no log entry has the locator ${locator}`],
    [['--since', '1d', '--because', 'x'], /use --yes/],
  ] as const
  const ended = await Promise.all(wrong.map(([args]) => retry([...args])))
  t.match(
    ended,
    wrong.map(([, stderr]) => ({ code: 2, stderr })),
  )
  t.equal(await everything(), before)
})

t.test('a dry run says what would become of each entry, sends nothing and writes nothing', async (t) => {
  const [givenUp, skipped, optedOut, waiting] = await record(pool, [
    { eventId: 'given-up', contact: UNRESOLVED },
    { eventId: 'skipped', contact: { state: 'not found' } },
    { eventId: 'opted-out', partyLocator: 'party-2', preferences: OPTED_OUT },
    { eventId: 'waiting', contact: UNRESOLVED },
    { eventId: 'sent' },
  ])
  await giveUp(givenUp)
  await client.query(
    `INSERT INTO notifications.notification_preferences VALUES ('party-2', null, null, 'EMAIL', '["claim.paid"]')`,
  )
  await client.query('TRUNCATE notifications.template_revision')
  const before = await everything()
  const { code, stdout, stderr } = await retry(['--since', '1d', '--dry-run'])
  t.equal(code, 0)
  t.same(
    stdout.trimEnd().split('\n').sort(),
    [
      `${givenUp}  SENT by EMAIL`,
      `${skipped}  SENT by EMAIL`,
      `${optedOut}  SKIPPED (event type opted out)`,
    ].sort(),
  )
  t.equal(stderr, 'Dry run: 2 would be SENT, 0 FAILED, 1 SKIPPED, 0 not retried\n')
  t.match(
    (await retry([waiting ?? '', '--dry-run'])).stdout,
    /not retried: the service still retries it by itself/,
  )
  t.equal(await everything(), before)
  t.same(await sentKeys(), [])
})

t.test('entries are decided anew, sent once, and what was done is told', async (t) => {
  const [givenUp, skipped, sent] = await record(pool, [
    { eventId: 'given-up', contact: UNRESOLVED },
    { eventId: 'skipped', contact: { state: 'not found' }, eventType: 'claim.rejected', reason: 'late' },
    { eventId: 'sent' },
  ])
  await giveUp(givenUp)
  await client.query(`UPDATE notifications.notification_log SET subject = 'Stored' WHERE locator = $1`, [
    givenUp,
  ])
  t.match(await retry(['--since', '1d', ...BECAUSE]), {
    code: 0,
    stderr: '2 SENT, 0 FAILED, 0 SKIPPED, 0 not retried\n',
  })
  t.same((await sentKeys()).sort(), ['given-up/1', 'skipped/1'])
  t.match(await rowOf(givenUp), { status: 'SENT', attempt_count: 4, subject: 'Stored' })
  t.match(await rowOf(skipped), {
    status: 'SENT',
    attempt_count: 1,
    failure_reason: null,
    body: /CLM-1.*late/s,
  })
  t.match(await decisionsOf(skipped), [
    { attempt: 0, outcome: 'SKIP', retried_by: null, template_revision: null },
    {
      attempt: 1,
      outcome: 'SEND',
      receipt: String,
      retried_by: 'alice',
      retried_because: 'an outage',
      variables: { eventType: 'claim.rejected', locator: 'CLM-1', reason: 'late' },
      template_revision: /^[0-9a-f]{64}$/,
      topic: 'claims',
    },
  ])
  const why = await command(['why', skipped ?? ''], { DATABASE_URL: url })
  t.match(why.stdout, /attempt 1: SEND by EMAIL .*\n {2}retried by alice: an outage\n/)

  const again = await retry([givenUp ?? '', sent ?? '', '--json', ...BECAUSE])
  t.equal(again.code, 1, 'what was named was not retried')
  const results = again.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.same(
    results.map(({ result, error }) => ({ result, error })),
    [sent, givenUp].map(() => ({ result: 'refused', error: 'it was sent' })),
  )
  t.equal((await sentKeys()).length, 2)
})

t.test('filters choose by time, event type, rule and reason', async (t) => {
  const [older, newer, other] = await record(pool, [
    { eventId: 'older', contact: { state: 'not found' } },
    { eventId: 'newer', contact: { state: 'not found' } },
    {
      eventId: 'other',
      eventType: 'claim.approved',
      preferences: somePreferences({ optedOutEvents: new Set(['claim.approved']) }),
    },
  ])
  await client.query(
    `UPDATE notifications.notification_log SET created_at = now() - interval '2 days' WHERE locator = $1`,
    [older],
  )
  const chosen = async (...args: string[]) => {
    const { code, stdout } = await retry([...args, '--dry-run', '--json'])
    t.equal(code, 0)
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).locator)
      .sort()
  }
  t.same(await chosen('--since', '3d', '--until', '1d'), [older])
  t.same(await chosen('--since', '1d', '--rule', 'party-not-found'), [newer])
  t.same(await chosen('--since', '3d', '--event-type', 'claim.approved'), [other])
  t.same(await chosen('--since', '3d', '--reason', 'party not'), [older, newer].sort())
})

t.test('one that fails again waits for the service, is sent by it, and can be verified', async (t) => {
  const [locator] = await record(pool, [
    { eventId: 'skipped', partyLocator: 'error-1', contact: { state: 'not found' } },
  ])
  t.match(await retry([locator ?? '', ...BECAUSE]), {
    code: 0,
    stdout: /FAILED \(contact could not be resolved/,
  })
  t.match(await rowOf(locator), { status: 'FAILED', attempt_count: 1, body: /CLM-1/ })
  await retryAll(pool)
  t.match(await rowOf(locator), { status: 'SENT', attempt_count: 2, body: /CLM-1/ })
  t.match(await decisionsOf(locator), [
    {},
    { retried_by: 'alice' },
    { retried_by: null, template_revision: String },
  ])
  t.match(await command(['replay', '--verify'], { DATABASE_URL: url }), { code: 0, stdout: /no difference/ })
})

t.test(
  'a message keeps its idempotency key unless it is known that the last one did not go out',
  async (t) => {
    const locators = await record(pool, [
      { eventId: 'refused', sendError: 'no mailbox' },
      { eventId: 'unknown', sendError: 'no answer' },
    ])
    await giveUp(...locators)
    await client.query(`UPDATE notifications.decision SET unknown_attempt = 1 WHERE event_id = 'unknown'`)
    const keys = join(t.testdir(), 'keys')
    t.match(await retry(['--since', '1d', ...BECAUSE], { SENT_KEYS: keys }), {
      code: 0,
      stdout: new RegExp(
        `^${locators[1]}  SENT by EMAIL; it may have gone out before, under the same key$`,
        'm',
      ),
      stderr: /^2 SENT, 0 FAILED/,
    })
    t.same((await readFile(keys, 'utf8')).trimEnd().split('\n').sort(), ['refused/2', 'unknown/1'])
  },
)

t.test('nothing is retried by a rule table that is not the one in force', async (t) => {
  const [locator = ''] = await record(pool, [{ eventId: 'skipped', contact: { state: 'not found' } }])
  const { revision } = await ruleTable()
  const other = 'a'.repeat(64)
  const activate = (activated: string) =>
    client.query(
      'INSERT INTO notifications.rule_table_activation (revision, activated_at) VALUES ($1, now())',
      [activated],
    )
  t.teardown(() => client.query('TRUNCATE notifications.rule_table_activation'))
  await client.query(`INSERT INTO notifications.ruleset VALUES ($1, '')`, [other])
  await activate(revision)
  await activate(other)
  const refused = {
    code: 1,
    stdout: '',
    stderr: new RegExp(`^this version's rule table ${revision} .* ${other} .*run the command of the version`),
  }
  t.match(await retry([locator, ...BECAUSE]), refused)
  t.match(await retry([locator, '--dry-run']), refused)
  t.match(await command(['rejected', 'redrive', '--all', '--yes'], env), refused)
  t.match(await rowOf(locator), { status: 'SKIPPED', attempt_count: 0 })
  await activate(revision)
  t.match(await retry([locator, ...BECAUSE]), { code: 0, stdout: /SENT by EMAIL/ })
})

t.test('nothing is retried that was erased, nor of a party that was', async (t) => {
  const [erased] = await record(pool, [
    { eventId: 'skipped', contact: { state: 'not found' }, reason: 'SECRET' },
  ])
  const erase = await command(['erase', '--party', 'party-1', '--yes'], { DATABASE_URL: url })
  t.equal(erase.code, 0)
  t.notMatch(await everything(), /CLM-1/, 'what a skipped row would be rendered from is erased too')
  const [later] = await record(pool, [{ eventId: 'later', contact: { state: 'not found' } }])
  for (const locator of [erased, later]) {
    t.match(await retry([locator ?? '', ...BECAUSE]), {
      code: 1,
      stdout: /not retried: it was erased, or its party was/,
    })
  }
})

t.test('entries that are named are retried in pages, too', async (t) => {
  const given = Array.from({ length: 501 }, (_, i) => ({ eventId: `event-${i}`, contact: UNRESOLVED }))
  const locators = (await record(pool, given)).map(String)
  const extra = locators.slice(0, 1)
  const pagesOf = async (some: string[]) => {
    const { list } = await named(pool, { maxAgeMs: 0, attemptCountMax: 3 }, some)
    const pages: string[][] = []
    for (let after: LogPosition | null | undefined; after !== null; ) {
      const { candidates, next } = await list(after ?? null)
      pages.push(candidates.map(({ locator }) => locator))
      after = next
    }
    return pages
  }
  const pages = await pagesOf(locators)
  t.same(
    pages.map(({ length }) => length),
    [500, 1],
  )
  t.same(pages.flat().sort(), [...locators].sort())
  t.same(await pagesOf(extra), [extra])
})
