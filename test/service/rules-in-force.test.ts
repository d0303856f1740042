import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../postgres/fixtures.ts'
import { DEFAULT_TABLE, record, ruleTable, sha256 } from '../postgres/record.ts'
import { startService } from '../stack/service.ts'
import { command } from './command.ts'

const { url, pool, client } = await openDatabase(t)
const folder = t.testdir()

const run = (...args: string[]) => command(args, { DATABASE_URL: url })
const MUTED = 'muted,claim.paid,found,no,,,,SKIP,,muted,"We are silent."'
const OLD_TABLE = DEFAULT_TABLE.replace(/^opted-out/m, `${MUTED}\nopted-out`)
const OLD = sha256(OLD_TABLE)
const SHIPPED = sha256(DEFAULT_TABLE)

/** Starts the service without a broker: what is in force is written down before one is needed. */
async function start(gitCommit: string, message: RegExp) {
  const service = await startService({
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

t.test(
  'a start with another rule table than the last one says in sentences what it changes, once',
  async (t) => {
    const first = await start('c0ffee0', IN_FORCE)
    t.match(first.line, { msg: 'a rule table is in force for the first time', revision: SHIPPED })

    await client.query('INSERT INTO notifications.ruleset VALUES ($1, $2)', [OLD, OLD_TABLE])
    await client.query(
      `INSERT INTO notifications.rule_table_activation (revision, activated_at) VALUES ($1, clock_timestamp())`,
      [OLD],
    )
    const next = await start('c0ffee1', IN_FORCE)
    t.match(next.line, {
      level: 'info',
      msg: /^a new rule table is in force: 12 situations change: /,
      revision: SHIPPED,
      revisionBefore: OLD,
      gitCommit: 'c0ffee1',
    })
    t.ok(
      (next.line.changes as string[]).some((change) =>
        change.startsWith(
          '4 situations change from SKIP (muted) to SEND by IN_APP for claim.paid (rule "muted" before',
        ),
      ),
    )
    const same = await start('c0ffee2', /Connection error|broker/i)
    t.notOk(same.lines.some(({ msg }) => IN_FORCE.test(msg)))
  },
)

t.test('why and backtest go by the table of the time and by the candidate', async (t) => {
  const [muted] = await record(
    pool,
    [{ eventId: 'a' }, { eventId: 'b', eventType: 'invoice.paid' }],
    await ruleTable(OLD_TABLE),
  )

  const why = await run('why', muted as string)
  t.equal(why.code, 0)
  t.match(why.stdout, `${muted} is SKIPPED (muted): claim.paid for party-1, event a\n`)
  t.match(why.stdout, 'SKIP (muted) by rule "muted", for claim.paid, party found')
  t.match(why.stdout, ': We are silent.\n')
  t.match(why.stdout, '  not by rule "no-party": "party" must be missing, but is found\n')
  t.match(why.stdout, `  rule table ${OLD}\n`)
  t.equal((await run('why', 'a')).stdout, why.stdout, 'the id of the event does as well')
  t.match(await run('why', 'NTF-nowhere'), {
    code: 1,
    stderr: 'no log entry has the locator or the event id NTF-nowhere\n',
  })

  const table = join(folder, 'candidate.csv')
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
  const first = await run('rules', 'backtest', '--table', table)
  t.match(first, { code: 0, stdout: /^In the last 30 days, since .*\n2 events: / })
  t.match(await run('rules', 'backtest', '--since', '36501d'), { code: 2, stderr: /such as 7d/ })
  t.match(await run('rules', 'backtest', '--since', '36500d'), { code: 0, stdout: /\n2 events: / })
})
