import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { above, rule } from '../authoring/build.ts'
import { openDatabase } from '../service/store/fixtures.ts'
import { startPolicyAdministration } from '../stack/policy-administration.ts'
import { command, spawned } from './command.ts'
import { everything } from './rows.ts'

const RULES = fileURLToPath(new URL('../first/rules/', import.meta.url))
const SHIPPED = join(RULES, 'dispatch.csv')
const TABLE = readFileSync(SHIPPED, 'utf8')

/** Runs these where no service is configured: none is needed. */
const rules = (...args: string[]) => command(['rules', ...args], {})

/** A copy of the rules and the templates; `change` is made to the rule table. */
function aCopy(t: Test, change: (table: string) => string = (table) => table) {
  const dir = t.testdir({})
  for (const folder of ['rules', 'templates'])
    cpSync(join(RULES, '..', folder), join(dir, folder), { recursive: true })
  const table = join(dir, 'rules/dispatch.csv')
  writeFileSync(table, change(TABLE))
  return { dir, table, templates: join(dir, 'templates') }
}

const untold = (table: string) =>
  above(
    'email',
    [rule({ rule: 'no-text', eventType: 'no template', party: 'found', reason: 'no text' })],
    table,
  )
const withoutOptedOut = (table: string) => table.replace(/^opted-out,.*\n/m, '')

t.test('the rules and texts of tests are the first ones, in this process and in another', async (t) => {
  const inFirst = /^test\/first\/rules\/dispatch\.csv: \d+ rules /
  t.match(await rules('check'), { code: 0, stdout: inFirst })
  t.match(await spawned(['rules', 'check'], {}), { code: 0, stdout: inFirst })
  t.match(await command(['templates', 'check', '--help'], {}), {
    stdout: /default: test\/first\/templates\b/,
  })
})

t.test('faults of rules and texts end the checks with 1, also as annotations', async (t) => {
  const { dir, table, templates } = aCopy(t, (text) => text.replace('SEND', 'SNED'))
  t.match(await rules('check', '--table', table, '--annotations'), {
    code: 1,
    stdout: /^::error file=.*dispatch\.csv,line=\d+::/m,
    stderr: /SNED/,
  })
  t.match(await rules('diff', '--against', SHIPPED, '--table', table), { code: 1, stderr: /SNED/ })
  writeFileSync(join(dir, 'templates/claim.paid.mustache'), 'Subject: x\n\n{{unheard}}\n')
  t.match(await command(['templates', 'check', '--templates', templates], {}), { code: 1, stderr: /unheard/ })
})

t.test('rules diff compares with a file or a git revision', async (t) => {
  const other = aCopy(t, (text) => text.replace('opted-out,,', 'opted-out,not claim.rejected,'))
  t.match(await rules('diff', '--against', SHIPPED, '--table', other.table), {
    code: 0,
    stderr: '',
    stdout:
      /^\d+ situations change: 0 no longer sent, \d+ newly sent, .*\n\d+ situations change from SKIP \(event type opted out\) to SEND /,
  })

  const { dir, table, templates } = aCopy(t)
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=n', '-c', 'user.email=e@example.org', ...args])
  git('init', '--quiet', '--initial-branch=trunk')
  git('commit', '--quiet', '--allow-empty', '-m', 'nothing')
  git('tag', 'empty')
  git('add', '.')
  git('commit', '--quiet', '-m', 'rules')
  git('branch', 'rules')
  writeFileSync(table, untold(TABLE))
  rmSync(join(templates, 'claim.paid.mustache'))
  git('commit', '--quiet', '--all', '-m', 'no text')
  writeFileSync(table, withoutOptedOut(TABLE))
  const diff = (against: string) => rules('diff', '--against', against, '--table', table)
  t.match(await diff('rules'), {
    code: 0,
    stdout: /^\d+ situations change: 0 no longer sent, \d+ newly sent, /,
  })
  writeFileSync(table, untold(TABLE))
  t.match(await diff('trunk'), { stdout: /^\d+ situations change: 0 no longer sent, [1-9]\d* newly sent/ })
  const stderr = '"trnuk" is neither a file nor a git revision: name one that is\n'
  t.match(await diff('trnuk'), { code: 1, stderr })
  t.match(await diff('empty'), { code: 1, stderr: /^git revision "empty" has no dispatch\.csv: / })
})

t.test('rules try decides by flags, by the JSON of an event, and by candidates', async (t) => {
  t.match(await rules('try', '--event-type', 'claim.paid', '--prefers', 'SMS', '--no-phone'), {
    code: 0,
    stderr: '',
    stdout: /^SKIP \(no phone on file\) by rule "no-phone", for claim\.paid, /,
  })

  const { dir, table, templates } = aCopy(t, (text) => text.replace('sms,,found', 'text,,found'))
  const event = join(dir, 'event.json')
  writeFileSync(
    event,
    '{"eventId":"e","eventType":"claim.rejected","partyLocator":"PTY-1","payload":{"locator":"CLM-9","reason":"too late"}}',
  )
  writeFileSync(join(templates, 'claim.rejected.mustache'), 'Subject: No\n\n{{locator}}: {{reason}}\n')
  const candidates = ['--table', table, '--templates', templates]
  const { code, stdout } = await rules('try', '--event', event, '--prefers', 'SMS', ...candidates, '--json')
  t.equal(code, 0)
  t.match(JSON.parse(stdout), {
    ...{ ruleId: 'text', outcome: 'SEND', channel: 'SMS' },
    facts: { eventType: 'claim.rejected', party: 'found' },
    text: { subject: 'No', body: 'CLM-9: too late' },
    sms: { encoding: 'GSM-7', segments: 1 },
  })
  writeFileSync(event, '{"eventId":"e","eventType":"claim.paid","partyLocator":null,"payload":{}}')
  t.match(await rules('try', '--event', event), { code: 0, stdout: /^SKIP .*party missing/ })
  writeFileSync(event, '{}')
  t.match(await rules('try', '--event', event), { code: 1, stderr: /^this message is not a valid event/ })
})

t.test('rules traffic counts the events of the log for the summary of a change', async (t) => {
  const { url } = await openDatabase(t)
  const counted =
    /^event type,party,.*,events,first day,last day\n\(others\),+0,\d{4}-\d\d-\d\d,\d{4}-\d\d-\d\d\n$/
  t.match(await command(['rules', 'traffic'], { DATABASE_URL: url }), {
    code: 0,
    stderr: /^warning: no event was decided from \d{4}-\d\d-\d\d to .* are not counted: /,
    stdout: counted,
  })
})

t.test('a real party is tried by one look-up, and nothing is shown or stored', async (t) => {
  const [{ url, client }, parties] = await Promise.all([openDatabase(t), startPolicyAdministration()])
  t.teardown(() => parties.stop())
  const env = { DATABASE_URL: url, POLICY_ADMIN_URL: parties.url }
  const tryParty = (party: string, ...args: string[]) =>
    command(['rules', 'try', '--event-type', 'claim.paid', '--party', party, ...args], env)
  await client.query(
    `INSERT INTO notifications.notification_preferences (party_locator, email, phone, preferred_channel, opted_out_events)
     VALUES ('no-phone-1', NULL, '+49170', 'SMS', '[]'), ('party-2', NULL, NULL, 'EMAIL', '["claim.paid"]')`,
  )
  const allTables = () => everything(async (query, values) => (await client.query(query, values)).rows)
  const before = await allTables()
  const outcomes = [
    [
      'no-phone-1',
      /^SKIP \(no phone on file\) by rule "no-phone", .*prefers text message, email on file, no phone on file/,
    ],
    [
      'party-1',
      /^SEND by email by rule "email", .*party found, not opted out, .*email on file, phone on file/,
    ],
    ['party-2', /^SKIP \(event type opted out\) by rule "opted-out"/],
    ['unknown-1', /^SKIP \(party not found\)/],
    ['error-1', /^FAIL \(contact could not be resolved\)/],
  ] as const
  for (const [party, outcome] of outcomes) {
    const { code, stdout, stderr } = await tryParty(party)
    t.match({ code, stdout, stderr }, { code: 0, stdout: outcome, stderr: '' })
    t.notMatch(stdout, /@|\+\d/)
  }
  t.strictSame(
    parties.requests.paths,
    outcomes.map(([party]) => `/internal/parties/${party}`),
  )
  t.match(await tryParty('party-1', '--prefers', 'SMS'), { code: 2, stderr: /cannot be used with option/ })
  t.match(await tryParty('party-1', '--no-phone'), { code: 2 })
  t.match(await tryParty('..'), { code: 2, stderr: /not a valid party locator/ })
  t.equal(await allTables(), before)
})
