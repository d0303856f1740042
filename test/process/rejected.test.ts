import t from 'tap'
import { anEvent, aWorld } from '../stack/world.ts'
import { command, jsonLines } from './command.ts'

const world = await aWorld(t, { partitionCount: 1 })
await world.serve()
const env = { DATABASE_URL: world.databaseUrl }
const BECAUSE = ['--because', 'a fix', '--by', 'alice', '--yes']
const rejected = (...args: string[]) => command(['rejected', ...args], env)
const rowsOf = (sql: string) => world.sql(sql)
const counts = async () =>
  (
    await rowsOf(`SELECT
      (SELECT count(*)::int FROM notifications.notification_log) AS rows,
      (SELECT count(*)::int FROM notifications.decision) AS decisions,
      (SELECT count(*)::int FROM notifications.redrive) AS redrives`)
  )[0]

/** Keeps a message as rejected, as a consumer would have; returns its id. */
async function keep(topic: string, offset: number, code: string, value: Buffer | string): Promise<string> {
  const rows = await world.sql(
    `INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error)
     VALUES ($1, 3, $2, $3, '{"source": ["dGVzdA=="]}', $4, 'because') RETURNING id`,
    [topic, offset, Buffer.from(value), code],
  )
  return String(rows[0]?.id)
}

const event = anEvent()
const fixed = await keep('claims', 5, 'refused-by-database', event.value)
const broken = await keep('billing', 7, 'not-json', '{"secret": ')
const binary = await keep('billing', 8, 'not-utf8', Buffer.from([0xff, 0x1b]))

t.test('list shows rejected messages, oldest first, without their contents', async (t) => {
  const { code, stdout, stderr } = await rejected('list')
  t.equal(code, 0)
  t.equal(stderr, '3 rejected messages not settled\n')
  t.strictSame(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]),
    [fixed, broken, binary],
  )
  t.match(stdout, /billing\/3@7 {2}11 bytes {2}because/)
  t.notMatch(stdout, /secret/)
  const ofOne = await rejected('list', '--topic', 'billing', '--code', 'not-json', '--json')
  t.match(jsonLines(ofOne.stdout), [
    { id: broken, topic: 'billing', partition: 3, offset: '7', byteCount: 11, redriven: null },
  ])
  t.equal((await rejected('list', '--since', '2999-01-01T00:00:00Z')).stdout, '')
  t.not((await rejected('list', '--since', '1h')).stdout, '')
  t.equal((await rejected('list', '--until', '1h')).stdout, '')
})

t.test('show prints a whole message, as text only if a terminal shows it safely', async (t) => {
  t.match((await rejected('show', broken)).stdout, /header {5}source: test\nvalue {6}\{"secret": \n$/)
  t.match((await rejected('show', binary)).stdout, /value {6}2 bytes, base64: \/xs=\n$/)
  const { code, stderr } = await rejected('show', '99')
  t.equal(code, 1)
  t.equal(stderr, 'no rejected message has the id 99\n')
})

t.test('redrive requires a selection, a reason and a confirmation', async (t) => {
  t.match(await rejected('redrive', '--yes', '--because', 'x'), {
    code: 2,
    stderr: /give ids, a filter or --all/,
  })
  t.match(await rejected('redrive', '3'), {
    code: 2,
    stderr: /^--because is missing: .*\nAdd .* --because ".+"\nOr add --dry-run: .*\n$/,
  })
  t.match(await rejected('redrive', '--all', '--because', 'x'), { code: 2, stderr: /use --yes/ })
  t.match(await rejected('redrive', '99', ...BECAUSE), {
    code: 1,
    stderr: 'no rejected message has the id 99',
  })
  t.match(await rejected('redrive', '--all', '--dry-run'), {
    code: 0,
    stdout:
      /^3 items\n {2}1 {2}if the database takes its row now\n {2}1 {2}would be left unchanged: still rejected: the value is not valid JSON\n/,
    stderr: /^Dry run, nothing was requested: redrive of all open unreadable messages, by their last reasons/,
  })
  t.strictSame(await counts(), { rows: 0, decisions: 0, redrives: 0 })
})

t.test('fixed messages are logged through the same pipeline, and each redrive is recorded', async (t) => {
  const { code, stdout } = await rejected('redrive', '--all', ...BECAUSE)
  t.equal(code, 0)
  t.match(stdout, /^request \d+ done: 1 logged, 2 left unchanged$/m)
  t.match(stdout, `${broken}  left unchanged: still rejected: the value is not valid JSON`)
  const why = await command(['why', event.eventId], env)
  t.match(why.stdout, /by alice: a fix/)
  const [row] = await rowsOf('SELECT * FROM notifications.notification_log')
  t.match(row, { event_id: event.eventId, status: 'SENT', attempt_count: 1 })
  t.match(await rowsOf('SELECT * FROM notifications.decision'), [
    {
      locator: row?.locator,
      topic: 'claims',
      partition_id: 3,
      offset: '5',
      receipt: String,
    },
  ])
  t.match(await rowsOf('SELECT * FROM notifications.redrive ORDER BY id'), [
    { rejected_message_id: fixed, redriven_by: 'alice', result: 'logged', locator: row?.locator },
    { rejected_message_id: broken, result: 'rejected', code: 'not-json', locator: null },
    { rejected_message_id: binary, result: 'rejected', code: 'not-utf8' },
  ])
  t.match(await rowsOf(`SELECT * FROM notifications.projection_checkpoints WHERE topic = 'claims'`), [])
  t.equal((await rowsOf('SELECT FROM notifications.rejected_message')).length, 3)
})

t.test('an event redriven twice, or logged meanwhile, gets no second row and no second send', async (t) => {
  const again = await rejected('redrive', fixed, ...BECAUSE, '--json')
  t.match(JSON.parse(again.stdout), { state: 'done', counts: { duplicate: 1 } })
  t.strictSame(await counts(), { rows: 1, decisions: 1, redrives: 4 })
  const open = await rejected('redrive', '--topic', 'claims', ...BECAUSE)
  t.match(open.stdout, /^request \d+ done: nothing fits its filter\n/, 'a filter leaves out what is settled')
  t.match((await rejected('list', '--topic', 'claims', '--all')).stdout, /redriven .*: duplicate/)
})

t.test(
  'a message of which only the first bytes are kept is not redriven, and nothing is recorded',
  async (t) => {
    const before = await counts()
    const cut = await keep('cut', 11, 'too-large', anEvent().value)
    t.match(await rejected('redrive', cut, ...BECAUSE), {
      code: 1,
      stdout: `${cut}  left unchanged: only the first bytes of its value are kept: have it published again, in smaller messages`,
    })
    t.strictSame(await counts(), before)
  },
)

t.test('junk is dismissed with a reason, and is no longer counted', async (t) => {
  const junk = await Promise.all([10, 11, 12].map((offset) => keep('junk', offset, 'not-json', 'no JSON')))
  const [first, ...others] = junk
  t.match(await rejected('dismiss', '--all', '--yes'), { code: 2, stderr: /--because/ })
  t.match(await rejected('dismiss', '--because', 'x', '--yes'), {
    code: 2,
    stderr: /give ids, a filter or --all/,
  })
  t.match(await rejected('dismiss', '--topic', 'junk', '--dry-run'), {
    code: 0,
    stdout: '3 items\n  3  not-json\n',
  })
  t.match(await rejected('dismiss', `${first}`, ...BECAUSE), { code: 0, stdout: /done: 1 dismissed/ })
  t.match(await rejected('dismiss', '--topic', 'junk', ...BECAUSE), { code: 0, stdout: /done: 2 dismissed/ })
  t.match((await rejected('dismiss', `${first}`, ...BECAUSE)).stdout, /^request \d+ done\n/, 'it is settled')
  t.equal((await rejected('list', '--topic', 'junk')).stdout, '')
  const listed = (await rejected('list', '--topic', 'junk', '--all')).stdout
  t.match(listed, /because {2}\(dismissed \S+Z\)$/m)
  t.match((await rejected('show', `${others[0]}`)).stdout, /^dismissed {2}\S+Z by alice: a fix$/m)
  t.match(
    (await rejected('redrive', `${first}`, ...BECAUSE)).stdout,
    /still rejected/,
    'it can still be redriven',
  )
})
