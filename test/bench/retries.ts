// make bench-retries
// How fast `serve` drains failed rows that are due, as after an outage of policy administration, and dispatches as many events,
// in turn. ROWS and ROUNDS set the sizes. Exits 1 if an outcome is wrong.
import type pg from 'pg'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { inArena } from './arena.ts'
import { startContacts } from './contacts.ts'
import { type BenchEvent, generateEvents } from './events.ts'
import { inTurn, ratesOf } from './in-turn.ts'
import { print, ratioOf, tableOfResults } from './report.ts'
import { CPU_ROWS, findCountFaults, measure, runRound } from './round.ts'
import { ours } from './sides.ts'

const brokers = brokersFromEnvironment()
const rowCount = numberFrom('ROWS', 100_000)
const roundCount = numberFrom('ROUNDS', 5)
const warmUpCount = Math.ceil(rowCount * 0.1)

endWithSignals()
const contacts = await startContacts()
const faults: string[] = []
const results = await inTurn(roundCount, ['drain', 'dispatch'], (work, round) =>
  work === 'drain'
    ? drain(round)
    : runRound({
        side: ours,
        seed: round,
        eventCount: rowCount - warmUpCount,
        warmUpCount,
        contacts,
        brokers,
      }),
)
print(
  [
    `rounds: ${roundCount}; rows a round: ${rowCount.toLocaleString('en')}; medians (least–most)`,
    '',
    ...tableOfResults('', results, [
      ['rows/s', ({ eventsPerSecond }) => eventsPerSecond],
      ...CPU_ROWS.slice(0, 2),
    ]),
    '',
    `drain : dispatch = ${ratioOf(ratesOf(results.drain), ratesOf(results.dispatch))}`,
  ],
  faults,
)

function drain(seed: number) {
  return inArena(brokers, contacts, async ({ client, start }) => {
    const totalCount = await insertDue(client, [...generateEvents(seed, rowCount)])
    await client.query('CHECKPOINT')
    const running = await start(ours)
    const counts = { warmUpCount, totalCount }
    const measured = await measure(client, running, contacts, counts, countDrained(totalCount))
    const found = await findCountFaults(
      client,
      totalCount,
      `SELECT
         (SELECT count(*) FROM notifications.notification_log WHERE status <> 'FAILED')::integer AS retried,
         (SELECT count(*) FROM notifications.decision WHERE attempt = 1)::integer AS decided`,
    )
    faults.push(...found.map((fault) => `round ${seed}: ${fault}`))
    return measured
  })
}

/**
 * Writes the rows that these events would have got during an outage of policy administration, last tried a minute ago, the oldest
 * with offset 1 in its decision. Returns their number.
 */
async function insertDue(client: pg.Client, events: readonly BenchEvent[]): Promise<number> {
  const { rowCount } = await client.query(
    `WITH event AS MATERIALIZED (
       SELECT DISTINCT ON (value->>'eventId') value->>'eventId' AS event_id, value->>'partyLocator' AS party_locator,
         value->>'eventType' AS event_type, value->'payload'->>'locator' AS object
       FROM jsonb_array_elements($1) AS value
     ), entry AS MATERIALIZED (
       SELECT *, 'NTF-' || uuidv7() AS locator, row_number() OVER () AS n FROM event
     ), logged AS (
       INSERT INTO notifications.notification_log (
         locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
         created_at, last_attempt_at
       )
       SELECT locator, event_id, party_locator, event_type, 'EMAIL', 'FAILED', 'About ' || object,
         'Something has become of ' || object || '.', 'policy administration answered 503', 0,
         now() - interval '1 hour' + n * interval '1 millisecond', now() - interval '1 minute'
       FROM entry
     )
     INSERT INTO notifications.decision (
       locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, reason, facts, variables,
       template_revision, rule_table_revision, topic, partition_id, "offset"
     )
     SELECT locator, 0, event_id, party_locator, event_type, 'FAIL', 'EMAIL', 'unresolved',
       'policy administration answered 503', jsonb_build_object(
         'eventType', event_type, 'party', 'unresolved', 'optedOut', false, 'preferredChannel', 'EMAIL',
         'emailOnFile', null, 'phoneOnFile', null
       ), jsonb_build_object('eventType', event_type, 'locator', object, 'reason', null), repeat('a', 64), repeat('b', 64),
       'claims', 0, n
     FROM entry`,
    [`[${events.map(({ value }) => value).join(',')}]`],
  )
  await client.query('VACUUM ANALYZE notifications.notification_log, notifications.decision')
  return rowCount ?? 0
}

/**
 * Counts the rows before the oldest due one, since rows are retried from the oldest on. Continues from there: from the start it
 * would pass more and more dead entries of the index.
 */
function countDrained(totalCount: number) {
  let oldest = '-infinity'
  return async (client: pg.Client): Promise<number> => {
    const { rows } = await client.query(
      `SELECT "offset"::integer AS n, notification_log.created_at::text
       FROM notifications.notification_log JOIN notifications.decision USING (locator)
       WHERE status = 'FAILED' AND notification_log.created_at >= $1
       ORDER BY notification_log.created_at, locator LIMIT 1`,
      [oldest],
    )
    oldest = rows[0]?.created_at ?? oldest
    return rows.length === 0 ? totalCount : rows[0].n - 1
  }
}
