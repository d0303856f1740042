import pg from 'pg'
import t from 'tap'
import { openPool } from '../../src/service/store/connection/pool.ts'
import { above, rule, table } from '../authoring/build.ts'
import { DEFAULT_TABLE, describeThose } from '../authoring/default-table.ts'
import { sha256 } from '../service/build.ts'
import { record, ruleTable } from '../service/store/record.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'

const world = await aWorld(t)
const url = world.databaseUrl
const pool = await openPool({ databaseUrl: url, connectionCountMax: 2 })
const client = new pg.Client(url)
await client.connect()
t.teardown(() => Promise.all([client.end(), pool.end()]))
const run = (...args: string[]) => command(args, { DATABASE_URL: url })
const MUTED = { rule: 'muted', eventType: 'claim.paid', party: 'found', optedOut: false, reason: 'muted' }
const OLD_TABLE = above('opted-out', [rule({ ...MUTED, because: 'We are silent.' })])
const OLD = sha256(OLD_TABLE)
const SHIPPED = sha256(DEFAULT_TABLE)

const archive = (table: string) =>
  client.query('INSERT INTO notifications.ruleset VALUES ($1, $2)', [sha256(table), table])

const IN_FORCE = /rule table is in force/
const activationsOf = async () =>
  (await client.query('SELECT revision, git_commit FROM notifications.rule_table_activation ORDER BY id'))
    .rows

/** Starts the service, waits for this line, and stops it. `events`: it decides this many. */
async function start(gitCommit: string, message: RegExp, events = 1, env: Record<string, string> = {}) {
  const service = await world.serve({ GIT_COMMIT: gitCommit, ...env })
  if (events > 0) {
    await world.publish(Array.from({ length: events }, () => anEvent()))
    await world.caughtUp()
  }
  const line = await service.logged(message)
  await service.stop()
  return { line, lines: service.lines }
}

t.test('a replica that decides nothing puts no rule table in force', async (t) => {
  const neverJoins = { MQ_BROKERS: '127.0.0.1:1' }
  const { lines } = await start('c0ffee0', /^no failed notification is due$/, 0, neverJoins)
  t.notOk(lines.some(({ msg }) => IN_FORCE.test(msg)))
  t.strictSame(await activationsOf(), [])
  t.equal((await client.query('SELECT FROM notifications.ruleset')).rowCount, 1, 'its table is archived')
})

t.test('the first batch that a changed rule table decides puts it in force, once', async (t) => {
  const first = await start('c0ffee1', IN_FORCE)
  t.match(first.line, { msg: 'a rule table is in force for the first time', revision: SHIPPED })

  await archive(OLD_TABLE)
  await client.query(
    `INSERT INTO notifications.rule_table_activation (revision, activated_at) VALUES ($1, clock_timestamp())`,
    [OLD],
  )
  const next = await start('c0ffee2', IN_FORCE)
  const mutedCount = describeThose({ party: 'found', optedOut: false }).length
  t.match(next.line, {
    ...{ level: 'info', msg: new RegExp(`^a new rule table is in force: ${mutedCount} situations change: `) },
    ...{ revision: SHIPPED, revisionBefore: OLD, gitCommit: 'c0ffee2' },
  })
  const inApp = describeThose({ optedOut: false, preferredChannel: 'IN_APP', party: 'found' }).length
  const sentence = `${inApp} situations change from SKIP (muted) to SEND by app message for claim.paid (rule "muted" before`
  t.ok((next.line.changes as string[]).some((change) => change.startsWith(sentence)))
  const same = await start('c0ffee3', /^no failed notification is due$/)
  t.notOk(same.lines.some(({ msg }) => IN_FORCE.test(msg)))
  t.strictSame(
    (await activationsOf()).map(({ git_commit }) => git_commit),
    ['c0ffee1', null, 'c0ffee2'],
  )
})

t.test('why uses the table of its time', async (t) => {
  await client.query('TRUNCATE notifications.notification_log, notifications.decision')
  const [muted = ''] = await record(
    pool,
    [{ eventId: 'a' }, { eventId: 'b', eventType: 'invoice.paid' }],
    await ruleTable(OLD_TABLE),
  )
  const why = await run('why', muted)
  t.equal(why.code, 0)
  for (const words of [
    `${muted} is SKIPPED (muted): claim.paid for party-1, event a\n`,
    'SKIP (muted) by rule "muted", for claim.paid, party found',
    ': We are silent.\n',
    '  not by rule "no-party": "party" must be missing, but is found\n',
    `  rule table ${OLD}\n`,
  ])
    t.match(why.stdout, words)
  t.equal((await run('why', 'a')).stdout, why.stdout, 'the id of the event does as well')
  const stderr = 'nothing in the log is called "NTF-nowhere"\n'
  t.match(await run('why', 'NTF-nowhere'), { code: 1, stderr })
})

/** A table of a later version, with a fact and a channel that this version does not know. */
const SEND = { party: 'found', outcome: 'SEND' }
const LATER_TABLE = table(
  rule({ ...SEND, rule: 'by-push', optedOut: false, preferredChannel: 'PIGEON', sendBy: 'PIGEON' }),
  { ...rule({ ...SEND, rule: 'at-once', eventType: 'claim.*', sendBy: 'SMS' }), urgent: 'yes' },
  rule({
    ...SEND,
    rule: 'by-email',
    emailOnFile: true,
    sendBy: 'EMAIL',
    because: 'As before, without haste.',
  }),
  rule({ rule: 'rest', reason: 'nobody' }),
)

t.test('decisions of a version with another fact are explained, and verified in part', async (t) => {
  await client.query('TRUNCATE notifications.notification_log, notifications.decision')
  const [locator = '', other = ''] = await record(pool, [
    { eventId: 'later' },
    { eventId: 'later still', eventType: 'invoice.paid' },
  ])
  await archive(LATER_TABLE)
  await client.query(
    `UPDATE notifications.decision SET rule_table_revision = $1, rule_id = 'by-email', facts = facts || '{"urgent": false}'`,
    [sha256(LATER_TABLE)],
  )
  const why = await run('why', locator)
  t.match(why, { code: 0, stderr: '' })
  for (const words of [
    'urgent no: As before, without haste.',
    'not by rule "by-push": this version cannot read "preferred channel" PIGEON, "send by" PIGEON',
    'not by rule "at-once": this version cannot read "urgent" yes',
  ])
    t.match(why.stdout, words)
  const verified = await run('replay', '--verify')
  t.match(verified, { code: 0, stderr: '' }, 'nothing is wrong')
  t.match(verified.stdout, /cannot be made again by this version.*: 2 entries, the first NTF-/)
  t.match(verified.stdout, /2 entries compared: no difference/)

  await client.query(`UPDATE notifications.notification_log SET body = 'x' WHERE locator = $1`, [other])
  t.match(await run('replay', '--verify'), { code: 1, stdout: /body is "x", but its decisions give/ })
})
