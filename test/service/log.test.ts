import { parse } from 'csv-parse/sync'
import t from 'tap'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { record, UNRESOLVED } from '../postgres/record.ts'
import { aDatabase } from '../stack/databases.ts'
import { command } from './command.ts'

const database = await aDatabase(t)
const notTold = (args: string[], env = {}) =>
  command(['log', '--not-told', ...args], { DATABASE_URL: database.url, ...env })

t.before(async () => {
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  await record(pool, [
    { eventId: 'failed', contact: UNRESOLVED },
    { eventId: '=SUM(A1)', partyLocator: '@party, "1"', contact: { state: 'not found' } },
  ])
  await pool.end()
})

t.test('log --not-told says who was not told, and why', async (t) => {
  const { code, stdout, stderr } = await notTold([])
  t.equal(code, 0)
  t.match(stdout, /^\S+Z {2}NTF-\S+ {2}SKIPPED \(party not found\): claim\.paid for @party, "1"\n$/)
  t.match(stderr, /^1 entry since \S+Z\n$/)
})

t.test('what is given up is as the environment says', async (t) => {
  const { stdout } = await notTold(['--json'], { RETRY_MAX_ATTEMPTS: '0' })
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.same(lines.map(({ eventId }) => eventId).sort(), ['=SUM(A1)', 'failed'])
  t.match(
    lines.find(({ eventId }) => eventId === 'failed'),
    {
      status: 'FAILED',
      givenUp: true,
      failureReason: /HTTP 500/,
    },
  )

  const asText = await notTold([], { RETRY_MAX_ATTEMPTS: '0' })
  t.match(asText.stdout, /FAILED, given up without a retry \(.*HTTP 500\): /)
})

t.test('as CSV it is whole, and harmless in a spreadsheet', async (t) => {
  const { code, stdout, stderr } = await notTold(['--csv', '--since', '2020-01-01'])
  t.same({ code, stderr }, { code: 0, stderr: '' })
  t.match(parse(stdout, { columns: true }), [
    {
      eventId: "'=SUM(A1)",
      partyLocator: `'@party, "1"`,
      status: 'SKIPPED',
      failureReason: 'party not found',
      givenUp: 'false',
    },
  ])
})

t.test(
  'a rule that never was is refused, naming the nearest; of an unknown event type there is a note',
  async (t) => {
    t.match(await notTold(['--rule', 'party-not-fuond']), {
      code: 2,
      stdout: '',
      stderr: 'no rule table has ever had a rule "party-not-fuond"; did you mean "party-not-found"?\n',
    })
    t.match(await notTold(['--rule', 'party-not-found']), { code: 0, stderr: /^1 entry/ })
    t.match(await notTold(['--reason', 'party not found']), { code: 0, stderr: /^1 entry/ })
    t.match(await notTold(['--reason', 'party']), { code: 0, stderr: /^0 entries/ })
    t.match(await notTold(['--event-type', 'claim.payed']), {
      code: 0,
      stderr: /^there is no template for "claim.payed"; did you mean "claim.paid"\?\n0 entries/,
    })
  },
)

t.test('without --not-told every entry is listed, and filters can be combined', async (t) => {
  const all = async (...args: string[]) => {
    const { stdout } = await command(['log', '--json', ...args], { DATABASE_URL: database.url })
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).eventId)
  }
  t.same((await all()).sort(), ['=SUM(A1)', 'failed'])
  t.same(await all('--status', 'FAILED'), ['failed'])
  t.same(await all('--party', '@party, "1"', '--until', '1h'), [])
})
