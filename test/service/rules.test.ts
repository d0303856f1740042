import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { command } from './command.ts'

const RULES = fileURLToPath(new URL('../../rules/', import.meta.url))
const TABLE = readFileSync(join(RULES, 'dispatch.csv'), 'utf8')

/** Runs `rules …` where no service is configured: none is needed. */
function rules(...args: string[]) {
  return command(['rules', ...args], {})
}

/** A copy of the rules folder; `change` is made to its rule table. */
function aCopy(t: Test, change: (table: string) => string = (table) => table) {
  const dir = join(t.testdir({}), 'rules')
  cpSync(RULES, dir, { recursive: true })
  const table = join(dir, 'dispatch.csv')
  writeFileSync(table, change(TABLE))
  return { dir, table }
}

const withoutOptedOut = (table: string) => table.replace(/^opted-out,.*\n/m, '')

t.test('check and diff say the same as JSON', async (t) => {
  const { table } = aCopy(t, withoutOptedOut)
  const checked = await rules('check', '--table', table, '--json')
  t.equal(checked.code, 1)
  t.match(JSON.parse(checked.stdout), [
    { file: /dispatch\.csv$/, faults: [], summary: String },
    { file: /promises\.csv$/, faults: [String], summary: /^\d+ promises$/ },
    { file: /envelope\.json$/, faults: [], summary: String },
  ])
  const { code, stdout } = await rules(
    'diff',
    '--against',
    join(RULES, 'dispatch.csv'),
    '--table',
    table,
    '--json',
  )
  t.equal(code, 0)
  const { changes, moved, reworded, sentences } = JSON.parse(stdout)
  t.match(changes[0], {
    situation: { optedOut: true },
    eventClasses: [{ members: ['any other event type'] }],
    before: { outcome: 'SKIP', ruleId: 'opted-out' },
  })
  t.same([moved, reworded], [[], []])
  t.match(sentences[0], `${changes.length} situations change: `)
})

t.test('rules diff compares with a file', async (t) => {
  const { table } = aCopy(t, (text) => text.replace('opted-out,,', 'opted-out,not claim.rejected,'))
  const text = await rules('diff', '--against', join(RULES, 'dispatch.csv'), '--table', table)
  t.match(text, {
    code: 0,
    stderr: '',
    stdout:
      /^\d+ situations change: 0 no longer sent, \d+ newly sent, .*\n\d+ situations change from SKIP \(event type opted out\) to SEND /,
  })
})

t.test('rules diff compares with a git revision', async (t) => {
  const { dir } = aCopy(t)
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=n', '-c', 'user.email=e@example.org', ...args])
  git('init', '--quiet', '--initial-branch=trunk')
  git('commit', '--quiet', '--allow-empty', '-m', 'nothing')
  git('tag', 'empty')
  git('add', '.')
  git('commit', '--quiet', '-m', 'rules')
  const table = join(dir, 'dispatch.csv')
  writeFileSync(table, withoutOptedOut(TABLE))
  t.match(await rules('diff', '--against', 'trunk', '--table', table), {
    code: 0,
    stdout: /^\d+ situations change: 0 no longer sent, \d+ newly sent, \d+ with another reason only\n/,
  })
  t.match(await rules('diff', '--against', 'trnuk', '--table', table), {
    code: 1,
    stderr: '"trnuk" is neither a file nor a git revision: name one that is\n',
  })
  t.match(await rules('diff', '--against', 'empty', '--table', table), {
    code: 1,
    stderr: /^git revision "empty" has no dispatch\.csv: /,
  })
})

t.test('a table that cannot be compared is named, with its faults', async (t) => {
  const { table } = aCopy(t, (text) => text.replace(',not found,', ',not fuond,'))
  t.match(await rules('diff', '--against', table), {
    code: 1,
    stderr: /^the rule table of .*dispatch\.csv has 1 fault:\n {2}row 3, column "party": "not fuond"/,
  })
  t.match(await rules('check', '--table', join(table, 'nowhere.csv')), {
    code: 1,
    stderr: /nowhere\.csv cannot be read: /,
  })
})

t.test('rules try decides by flags, by the JSON of an event, and by candidates', async (t) => {
  const skipped = await rules('try', '--event-type', 'claim.paid', '--prefers', 'SMS', '--no-phone')
  t.match(skipped, {
    code: 0,
    stderr: '',
    stdout: /^SKIP \(no phone on file\) by rule "no-phone", for claim\.paid, /,
  })

  const { dir, table } = aCopy(t, (text) => text.replace('sms,,found', 'text,,found'))
  const event = join(dir, 'event.json')
  writeFileSync(
    event,
    '{"eventId":"e","eventType":"claim.rejected","partyLocator":"PTY-1","payload":{"locator":"CLM-9","reason":"too late"}}',
  )
  const templates = join(dir, 'templates')
  cpSync(join(RULES, '../templates'), templates, { recursive: true })
  writeFileSync(join(templates, 'claim.rejected.mustache'), 'Subject: No\n\n{{locator}}: {{reason}}\n')
  const candidates = ['--table', table, '--templates', templates]
  const { code, stdout } = await rules('try', '--event', event, '--prefers', 'SMS', ...candidates, '--json')
  t.equal(code, 0)
  t.match(JSON.parse(stdout), {
    ruleId: 'text',
    outcome: 'SEND',
    channel: 'SMS',
    facts: { eventType: 'claim.rejected', party: 'found' },
    text: { subject: 'No', body: 'CLM-9: too late' },
    sms: { encoding: 'GSM-7', segments: 1 },
  })
})

t.test('rules try names what is missing or wrong', async (t) => {
  t.match(await rules('try'), {
    code: 2,
    stderr: /name an event type by --event-type, or an event by --event/,
  })
  const { dir } = aCopy(t)
  const event = join(dir, 'event.json')
  writeFileSync(event, '{"eventType":"claim.paid"}')
  t.match(await rules('try', '--event', event), {
    code: 2,
    stderr: /this message is not a valid event and would be rejected: eventId is missing/,
  })
  t.match(await rules('try', '--event-type', 'x', '--templates', dir), {
    code: 1,
    stderr: /is not a template: name it/,
  })
})
