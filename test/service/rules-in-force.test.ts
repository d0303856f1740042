import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { DEFAULT_TABLE } from '../core/rules/default-table.ts'
import { openDatabase } from '../postgres/fixtures.ts'
import { record, ruleTable, sha256 } from '../postgres/record.ts'
import { serveHere } from '../stack/service.ts'
import { command } from './command.ts'

const { url, pool, client } = await openDatabase(t)
const run = (...args: string[]) => command(args, { DATABASE_URL: url })
const MUTED = 'muted,claim.paid,found,no,,,,SKIP,,muted,"We are silent."'
const OLD_TABLE = DEFAULT_TABLE.replace(/^opted-out/m, `${MUTED}\nopted-out`)
const OLD = sha256(OLD_TABLE)
const SHIPPED = sha256(DEFAULT_TABLE)

const archive = (table: string) =>
  client.query('INSERT INTO notifications.ruleset VALUES ($1, $2)', [sha256(table), table])

/** Runs the service without a broker: the table in force is written down before one is needed. */
async function start(gitCommit: string, message: RegExp) {
  const service = await serveHere({
    DATABASE_URL: url,
    MQ_BROKERS: '127.0.0.1:1',
    POLICY_ADMIN_URL: 'http://127.0.0.1:1',
    GIT_COMMIT: gitCommit,
  })
  const line = await service.logged(message)
  await service.stop()
  return { line, lines: service.lines }
}
const IN_FORCE = /rule table is in force/

t.test('a start with a changed rule table logs the changes, once', async (t) => {
  const first = await start('c0ffee0', IN_FORCE)
  t.match(first.line, { msg: 'a rule table is in force for the first time', revision: SHIPPED })

  await archive(OLD_TABLE)
  await client.query(
    `INSERT INTO notifications.rule_table_activation (revision, activated_at) VALUES ($1, clock_timestamp())`,
    [OLD],
  )
  const next = await start('c0ffee1', IN_FORCE)
  t.match(next.line, {
    ...{ level: 'info', msg: /^a new rule table is in force: 12 situations change: / },
    ...{ revision: SHIPPED, revisionBefore: OLD, gitCommit: 'c0ffee1' },
  })
  const sentence =
    '4 situations change from SKIP (muted) to SEND by IN_APP for claim.paid (rule "muted" before'
  t.ok((next.line.changes as string[]).some((change) => change.startsWith(sentence)))
  const same = await start('c0ffee2', /waiting for the broker|^no failed notification is due/)
  t.notOk(same.lines.some(({ msg }) => IN_FORCE.test(msg)))
})

t.test('why uses the table of its time, backtest the candidate', async (t) => {
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
  const stderr = 'no log entry has the locator or the event id NTF-nowhere\n'
  t.match(await run('why', 'NTF-nowhere'), { code: 1, stderr })

  const table = join(t.testdir(), 'candidate.csv')
  await writeFile(table, DEFAULT_TABLE)
  const { code, stdout } = await run('rules', 'backtest', '--table', table, '--since', '1h')
  t.equal(code, 0)
  t.same(stdout.split('\n').slice(1), [
    '2 events: 1 changes, 1 does not',
    '1 message more by EMAIL',
    '1 event changes from SKIP (muted) to SEND by EMAIL for claim.paid (rule "muted" before, rule "email" now):',
    `    1: party found, not opted out, prefers EMAIL, email on file, no phone on file, such as ${muted}`,
    'Where events change, by event type and rule, unchanged and changed:',
    '    claim.paid, rule "muted": 0, 1',
    '',
  ])
  t.match(await run('rules', 'backtest', '--table', table), {
    code: 0,
    stdout: /^In the last 30 days, since /,
  })
  t.match(await run('rules', 'backtest', '--since', '36501d'), { code: 2, stderr: /such as 7d/ })
  t.match(await run('rules', 'backtest', '--since', '36500d'), { code: 0, stdout: /\n2 events: / })
})

/** A table from before there were phones and messages in the app. */
const PAST_TABLE = `rule,event type,party,opted out,preferred channel,email on file,outcome,send by,reason,because
unresolved,,unresolved,,,,FAIL,,contact could not be resolved,It waits.
nobody,,not found,,,,SKIP,,nobody,There is nobody.
missing,,missing,,,,SKIP,,missing,It names nobody.
opted-out,,found,yes,,,SKIP,,opted out,The party asked for it.
email,,found,,EMAIL,yes,SEND,,,It was so then.
`
const PAST_FACTS = {
  ...{ eventType: 'claim.paid', party: 'found', optedOut: false },
  ...{ preferredChannel: 'EMAIL', emailOnFile: true, 'gone since': true },
}

t.test('decisions older than a fact or channel stay readable and verifiable', async (t) => {
  await client.query('TRUNCATE notifications.notification_log, notifications.decision')
  const [locator = ''] = await record(pool, [{ eventId: 'past' }])
  await archive(PAST_TABLE)
  await client.query('UPDATE notifications.decision SET rule_table_revision = $1, facts = $2', [
    sha256(PAST_TABLE),
    PAST_FACTS,
  ])
  const why = await run('why', locator)
  t.match(why, { code: 0, stderr: '' })
  t.match(why.stdout, 'party found, not opted out, prefers EMAIL, email on file: It was so then.')
  t.match(why.stdout, 'not by rule "opted-out": "opted out" must be yes, but is no')
  t.match(await run('replay', '--verify'), { code: 0, stdout: '1 entry compared: no difference\n' })
  t.match(await run('rules', 'backtest'), { code: 0, stdout: /1 event: 0 change, 1 does not/ })
  t.match(await run('log', '--not-told'), { code: 0 })

  await client.query("UPDATE notifications.decision SET rule_id = 'opted-out'")
  const stdout = /the rule table then in force says SEND by EMAIL/
  t.match(await run('replay', '--verify'), { code: 1, stdout })
})
