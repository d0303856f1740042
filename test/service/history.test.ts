import t from 'tap'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { openDatabase } from '../postgres/fixtures.ts'
import { record, sha256 } from '../postgres/record.ts'
import { command } from './command.ts'

/** A table from before there were phones and messages in the app. */
const PAST_TABLE = `rule,event type,party,opted out,preferred channel,email on file,outcome,send by,reason,because
unresolved,,unresolved,,,,FAIL,,contact could not be resolved,It waits.
nobody,,not found,,,,SKIP,,nobody,There is nobody.
missing,,missing,,,,SKIP,,missing,It names nobody.
opted-out,,found,yes,,,SKIP,,opted out,The party asked for it.
email,,found,,EMAIL,yes,SEND,,,It was so then.
`

const PAST_FACTS = {
  eventType: 'claim.paid',
  party: 'found',
  optedOut: false,
  preferredChannel: 'EMAIL',
  emailOnFile: true,
  'gone since': true,
}

const { url, client } = await openDatabase(t)
const run = (...args: string[]) => command(args, { DATABASE_URL: url })

t.test('what was decided with fewer facts and channels stays readable and verifiable', async (t) => {
  const pool = await openPool({ databaseUrl: url, connectionCountMax: 1 })
  const [locator = ''] = await record(pool, [{ eventId: 'a' }])
  await pool.end()
  await client.query('INSERT INTO notifications.ruleset (revision, source) VALUES ($1, $2)', [
    sha256(PAST_TABLE),
    PAST_TABLE,
  ])
  await client.query(
    `UPDATE notifications.decision
     SET rule_table_revision = $1, facts = $2`,
    [sha256(PAST_TABLE), PAST_FACTS],
  )

  const why = await run('why', locator)
  t.match(why, { code: 0, stderr: '' })
  t.match(why.stdout, 'party found, not opted out, prefers EMAIL, email on file: It was so then.')
  t.match(why.stdout, 'not by rule "opted-out": "opted out" must be yes, but is no')
  t.match(await run('replay', '--verify'), { code: 0, stdout: '1 entry compared: no difference\n' })
  t.match(await run('rules', 'backtest'), { code: 0, stdout: /1 event: 0 change, 1 does not/ })
  t.match(await run('log', '--not-told'), { code: 0 })

  await client.query("UPDATE notifications.decision SET rule_id = 'opted-out'")
  t.match(await run('replay', '--verify'), {
    code: 1,
    stdout: /the rule table of its time says SEND by EMAIL/,
  })
})
