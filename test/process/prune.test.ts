import t from 'tap'
import { openDatabase } from '../service/store/fixtures.ts'
import { record, retryAll, UNRESOLVED } from '../service/store/record.ts'
import { command } from './command.ts'

const { url, pool, client } = await openDatabase(t)
const env = { DATABASE_URL: url }
const prune = (...args: string[]) => command(['prune', ...args], env)
const rowsOf = async (query: string, values?: unknown[]) => (await client.query(query, values)).rows
const eventIds = async (table = 'notification_log') =>
  (await rowsOf(`SELECT DISTINCT event_id FROM notifications.${table} ORDER BY event_id`)).map(
    ({ event_id }) => event_id,
  )

/** As if all of these had been so long ago. */
async function age(interval: string, eventId: string): Promise<void> {
  for (const [table, column] of [
    ['notification_log', 'created_at'],
    ['decision', 'decided_at'],
  ]) {
    await client.query(
      `UPDATE notifications.${table} SET ${column} = ${column} - $1::interval WHERE event_id LIKE $2`,
      [interval, eventId],
    )
  }
}

const keep = (rejectedAt: string) =>
  client.query(
    `INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error, rejected_at)
     VALUES ('claims', 0, 1, convert_to($1, 'UTF8'), '{}', 'not-json', 'no', $1::timestamptz)`,
    [rejectedAt],
  )

t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.projection_checkpoints,
      notifications.rejected_message, notifications.pruning`)
  await record(pool, [
    { eventId: 'old-sent' },
    { eventId: 'old-skipped', contact: { state: 'not found' } },
    { eventId: 'old-retried', contact: UNRESOLVED },
    { eventId: 'old-orphan' },
    { eventId: 'young' },
  ])
  await retryAll(pool)
  await record(pool, [{ eventId: 'old-failed', contact: UNRESOLVED }])
  await age('401 days', 'old-%')
  await client.query(`DELETE FROM notifications.notification_log WHERE event_id = 'old-orphan'`)
  // Locators of that time: the tests' are of now.
  await client.query(`
    UPDATE notifications.decision SET locator = 'NTF-0170' || substr(locator, 9) WHERE event_id = 'old-orphan'`)
  await keep('2024-01-01Z')
  await keep('2999-01-01Z')
})

t.test('prune deletes old entries with their decisions, and records this', async (t) => {
  const before = await eventIds('decision')
  const dry = await prune('--older-than', '400d', '--dry-run')
  t.match(dry, {
    code: 0,
    stdout:
      /^Dry run: would delete 4 log entries with 6 decisions, 1 rejected message, 0 ended requests, all older than \S+Z\n$/,
  })
  t.match(await prune('--older-than', '400d'), { code: 2, stderr: /use --yes$/m })
  t.match(await prune('--older-than', '9999-12-31'), { code: 2, stderr: /at least a day ago/ })
  t.strictSame(await eventIds('decision'), before)

  const { code, stdout } = await prune('--older-than', '400d', '--yes', '--by', 'alice', '--json')
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { pruned: true, logEntries: 4, decisions: 6, rejectedMessages: 1 })
  t.strictSame(await eventIds(), ['young'])
  t.strictSame(await eventIds('decision'), ['young'])
  t.match(await rowsOf('SELECT * FROM notifications.rejected_message'), [{ rejected_at: Date }])
  t.match(await rowsOf('SELECT * FROM notifications.pruning'), [
    { pruned_by: 'alice', log_entries: '4', decisions: '6', rejected_messages: '1', finished_at: Date },
  ])
  t.match(await prune('--older-than', '400d', '--yes'), { code: 0, stdout: /^Deleted 0 log entries/ })
  t.match(await command(['replay', '--rebuild'], env), {
    code: 0,
    stdout: '1 entry compared: no difference\n',
  })
})

t.test(
  'a pruning that ended before its last step is completed though nothing is left to count',
  async (t) => {
    await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.rejected_message,
      notifications.redrive, notifications.request;
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, error)
    VALUES (1, 'alice', 'dismissed', 'PTY-1 called');
    INSERT INTO notifications.checkpoint_change (topic, partition_id, to_offset, changed_at, changed_by, because)
    VALUES ('claims', 0, 1, now() - interval '500 days', 'alice', 'PTY-1 was told')`)
    const leftovers = () =>
      rowsOf(
        'SELECT because, (SELECT count(*) FROM notifications.redrive) FROM notifications.checkpoint_change',
      )
    t.match(await prune('--older-than', '400d', '--dry-run'), {
      code: 0,
      stdout: /would delete 0 log entries/,
    })
    t.strictSame(await leftovers(), [{ because: 'PTY-1 was told', count: '1' }])
    t.match(await prune('--older-than', '400d', '--yes'), { code: 0 })
    t.strictSame(await leftovers(), [{ because: 'pruned', count: '0' }])
  },
)

t.test('a failed row that will still be retried is never pruned', async (t) => {
  const patient = { ...env, RETRY_MAX_AGE: '3650d' }
  const { stdout } = await command(['prune', '--older-than', '400d', '--yes', '--json'], patient)
  t.match(JSON.parse(stdout), { logEntries: 3 })
  t.strictSame(await eventIds(), ['old-failed', 'young'])
  t.match(
    await command(['prune', '--older-than', '400d', '--yes'], { ...patient, RETRY_MAX_ATTEMPTS: '0' }),
    {
      code: 0,
      stdout: /Deleted 1 log entry with/,
    },
  )
})

t.test('requests that ended long ago are pruned even if nothing else is', async (t) => {
  await client.query(`
    TRUNCATE notifications.request;
    INSERT INTO notifications.request (id, kind, target, requested_by, because, state, requested_at, ended_at)
    SELECT id, 'retry', '{"locators": ["NTF-1"]}', 'alice', 'a fix', CASE WHEN ended IS NULL THEN 'waiting' ELSE 'done' END,
      '2020-01-01Z', ended
    FROM (VALUES (1, '2021-01-01Z'::timestamptz), (2, NULL), (3, now()), (4, '2021-01-01Z')) AS request (id, ended);
    UPDATE notifications.decision SET request_id = 4, retried_by = 'alice', retried_because = 'a fix' WHERE event_id = 'young'`)
  await prune('--older-than', '400d', '--yes')
  await client.query(`
    INSERT INTO notifications.request (kind, target, requested_by, because, state, requested_at, ended_at)
    VALUES ('retry', '{"locators": ["NTF-1"]}', 'alice', 'a fix', 'done', '2020-01-01Z', '2021-01-01Z')`)
  t.match(await prune('--older-than', '400d', '--dry-run'), {
    stdout: /would delete .* 2 ended requests, all older/,
  })
  t.match(await prune('--older-than', '400d', '--yes'), { code: 0, stdout: /^Deleted .* 1 ended request, / })
  t.strictSame(
    (await rowsOf('SELECT id FROM notifications.request ORDER BY id')).map(({ id }) => id),
    ['2', '3', '4'],
    'one with a decision that stays leads an erasure to the copy of its reason',
  )
  await client.query(`DELETE FROM notifications.decision WHERE event_id = 'young'`)
  t.match(await prune('--older-than', '400d', '--yes'), { stdout: / 1 ended request, / })
})
