import { parse } from 'csv-parse/sync'
import t from 'tap'
import { openDatabase } from '../postgres/fixtures.ts'
import { record, UNRESOLVED } from '../postgres/record.ts'
import { command } from './command.ts'

const { url, pool, client } = await openDatabase(t)
const run = (args: string[], env = {}) => command(args, { DATABASE_URL: url, ...env })
const notTold = (args: string[], env = {}) => run(['log', '--not-told', ...args], env)
const linesOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

t.before(async () => {
  await record(pool, [
    { eventId: 'failed', contact: UNRESOLVED },
    { eventId: '=SUM(A1)', partyLocator: '@party, "1"', contact: { state: 'not found' } },
  ])
})

t.test('log --not-told lists the parties that got no message, with the reason', async (t) => {
  t.match(await notTold([]), {
    code: 0,
    stdout: /^\S+Z {2}NTF-\S+ {2}SKIPPED \(party not found\): claim\.paid for @party, "1"\n$/,
    stderr: /^1 entry since \S+Z\n$/,
  })
})

t.test('the environment decides which entries are given up', async (t) => {
  const none = { RETRY_MAX_ATTEMPTS: '0' }
  const lines = linesOf((await notTold(['--json'], none)).stdout)
  t.same(lines.map(({ eventId }) => eventId).sort(), ['=SUM(A1)', 'failed'])
  t.match(
    lines.find(({ eventId }) => eventId === 'failed'),
    { status: 'FAILED', givenUp: true, failureReason: /HTTP 500/ },
  )
  t.match((await notTold([], none)).stdout, /FAILED, given up \(.*HTTP 500\): /)
})

t.test('the CSV is complete, and contains no formulas for a spreadsheet', async (t) => {
  const { code, stdout, stderr } = await notTold(['--csv', '--since', '2020-01-01'])
  t.same({ code, stderr }, { code: 0, stderr: '' })
  const skipped = { status: 'SKIPPED', failureReason: 'party not found', givenUp: 'false' }
  const guarded = { eventId: "'=SUM(A1)", partyLocator: `'@party, "1"` }
  t.match(parse(stdout, { columns: true }), [{ ...guarded, ...skipped }])
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
    ['--reason', 'not found', /^0 entries/],
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
    linesOf((await run(['log', '--json', ...args])).stdout).map(({ eventId }) => eventId)
  t.same((await all()).sort(), ['=SUM(A1)', 'failed'])
  t.same(await all('--status', 'FAILED'), ['failed'])
  t.same(await all('--party', '@party, "1"', '--until', '1h'), [])
})

t.test('replay names differences with exit code 1, and corrects them on request', async (t) => {
  const [locator] = await record(pool, [{ eventId: 'a' }])
  await client.query(`DELETE FROM notifications.notification_log WHERE event_id = 'a'`)
  t.same(await run(['replay', '--verify', '--json']), {
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
  t.same(await run(['replay', '--verify']), sound)
})

t.test('the list marks a message that was only recorded by a placeholder', async (t) => {
  await record(pool, [{ eventId: 'recorded' }])
  const marked = async (change: string) => {
    await client.query(`UPDATE notifications.decision SET ${change} WHERE event_id = 'recorded'`)
    return (await run(['log', '--status', 'SENT'])).stdout.includes('SENT, recorded only: claim.paid for ')
  }
  t.equal(await marked(`receipt = 'recorded:EMAIL:1'`), false, 'a transport may have such a receipt')
  t.equal(await marked(`recorded_only = true`), true)
  t.equal(await marked(`receipt = 'erased', variables = NULL, erased_at = now()`), true)
  t.equal(await marked(`recorded_only = NULL`), false, 'an erasure left nothing else in version 1.0')
  t.equal(await marked(`receipt = 'recorded:EMAIL:1', erased_at = NULL`), true, 'a row of version 1.0')
})
