import t from 'tap'
import { openDatabase } from '../postgres/fixtures.ts'
import { startPolicyAdministration } from '../stack/policy-administration.ts'
import { command } from './command.ts'

const [{ url, client }, parties] = await Promise.all([openDatabase(t), startPolicyAdministration()])
t.teardown(() => parties.stop())
const env = { DATABASE_URL: url, POLICY_ADMIN_URL: parties.url }
const tryParty = (party: string, ...args: string[]) =>
  command(['rules', 'try', '--event-type', 'claim.paid', '--party', party, ...args], env)

await client.query(
  `INSERT INTO notifications.notification_preferences (party_locator, email, phone, preferred_channel, opted_out_events)
   VALUES ('no-phone-1', NULL, '+49170', 'SMS', '[]'), ('party-2', NULL, NULL, 'EMAIL', '["claim.paid"]')`,
)

t.test(
  'a real party is tried by its stored preferences and one look-up, and no address is shown',
  async (t) => {
    const bySms = await tryParty('no-phone-1')
    t.match(bySms, { code: 0, stderr: '' })
    t.match(
      bySms.stdout,
      /^SKIP \(no phone on file\) by rule "no-phone", .*prefers SMS, email on file, no phone on file/,
    )
    t.strictSame([...parties.requests.paths], ['/internal/parties/no-phone-1'])
    const { code, stdout } = await tryParty('party-1', '--json')
    t.equal(code, 0)
    t.match(JSON.parse(stdout), {
      outcome: 'SEND',
      channel: 'EMAIL',
      facts: { party: 'found', optedOut: false, emailOnFile: true, phoneOnFile: true },
    })
    t.notMatch(stdout + bySms.stdout, /@|\+\d/)
    t.match((await tryParty('party-2')).stdout, /^SKIP \(event type opted out\) by rule "opted-out"/)
  },
)

t.test('a party that is not known or cannot be looked up is tried as such', async (t) => {
  t.match(await tryParty('unknown-1'), { code: 0, stdout: /^SKIP \(party not found\)/ })
  t.match(await tryParty('error-1'), { code: 0, stdout: /^FAIL \(contact could not be resolved\)/ })
})

t.test('nothing is written', async (t) => {
  const { rows } = await client.query(`SELECT
    (SELECT count(*)::int FROM notifications.notification_log) AS entries,
    (SELECT count(*)::int FROM notifications.decision) AS decisions,
    (SELECT count(*)::int FROM notifications.ruleset) AS tables`)
  t.strictSame(rows, [{ entries: 0, decisions: 0, tables: 0 }])
})

t.test('a real party and made-up facts exclude each other', async (t) => {
  t.match(await tryParty('party-1', '--prefers', 'SMS'), { code: 2, stderr: /cannot be used with option/ })
  t.match(await tryParty('party-1', '--no-phone'), { code: 2 })
  t.match(await tryParty('..'), { code: 2, stderr: /not a valid party locator/ })
})
