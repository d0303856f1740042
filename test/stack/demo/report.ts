import type { QueryResultRow } from 'pg'
import type { Topics } from '../topics.ts'
import type { makePublication } from './messages.ts'

type Sql = (query: string, values?: unknown[]) => Promise<QueryResultRow[]>

/** Addresses and commands for a closer look. */
interface Places {
  readonly serviceUrl: string
  readonly consoleUrl: string
  /** The database as an argument of psql. */
  readonly database: string
  readonly brokers: string
  readonly topics: Topics
  /** Holds the environment of the service, for a shell. */
  readonly envFile: string
}

/** The outcome of the published messages, as text. */
export async function report(
  sql: Sql,
  { messages, eventIds, rejectedKey }: ReturnType<typeof makePublication>,
  places: Places,
): Promise<string> {
  const rows = await sql(
    `SELECT status, channel, coalesce(failure_reason, '') AS reason, count(*)::integer AS count
     FROM notifications.notification_log WHERE event_id = ANY ($1)
     GROUP BY status, channel, reason
     ORDER BY array_position(ARRAY['SENT', 'SKIPPED', 'FAILED'], status), channel, count DESC`,
    [eventIds],
  )
  const rejected = await sql(
    `SELECT error, count(*)::integer AS count FROM notifications.rejected_message WHERE key = $1
     GROUP BY error ORDER BY count DESC, error`,
    [Buffer.from(rejectedKey)],
  )
  // The longest text of each channel shows the most.
  const samples = await sql(
    `SELECT DISTINCT ON (channel) locator, channel, party_locator, event_type, subject, body
     FROM notifications.notification_log WHERE event_id = ANY ($1) AND status = 'SENT'
     ORDER BY channel, length(body) DESC, locator`,
    [eventIds],
  )
  const [rowCount, rejectedCount] = [rows, rejected].map((some) =>
    some.reduce((sum, { count }) => sum + count, 0),
  )
  const absorbed = messages.length - Number(rowCount) - Number(rejectedCount)
  const isRight = rowCount === eventIds.length
  const result = isRight ? 'each event has exactly one row' : `WRONG: there are ${eventIds.length} events`
  return [
    `What became of ${messages.length} messages: ${rowCount} log rows, ${absorbed} duplicates absorbed, ${rejectedCount} rejected; ${result}.`,
    table([{ status: 'status', channel: 'channel', count: 'count', reason: 'reason' }, ...rows]),
    'Messages that are not valid events, stored whole in notifications.rejected_message:',
    rejected.map(({ error, count }) => `  ${count}  ${error}`).join('\n'),
    ...samples.map(sampleText),
    whereToLook(samples[0] ?? {}, places),
  ].join('\n\n')
}

function table(rows: readonly QueryResultRow[]): string {
  return rows
    .map(({ status, channel, count, reason }) =>
      `  ${status.padEnd(9)}${channel.padEnd(9)}${String(count).padStart(5)}  ${reason}`.trimEnd(),
    )
    .join('\n')
}

const SENT_BY: Record<string, string> = { EMAIL: 'Email', SMS: 'Text message', IN_APP: 'Message in the app' }

function sampleText({ channel, party_locator, event_type, subject, body }: QueryResultRow): string {
  const lines = [`Subject: ${subject}`, '', ...body.trim().split('\n')]
  return [
    `${SENT_BY[channel] ?? channel} to ${party_locator} (${event_type}):`,
    ...lines.map((line) => `  │ ${line}`.trimEnd()),
  ].join('\n')
}

function whereToLook({ locator, party_locator }: QueryResultRow, places: Places): string {
  const { serviceUrl, consoleUrl, database, envFile, brokers, topics } = places
  const event =
    '{"eventId":"my-first-event","eventType":"claim.paid","partyLocator":"party-0030","payload":{"locator":"CLM-1"}}'
  return `Look at
  ${consoleUrl}
  ${serviceUrl}/log/list
  ${serviceUrl}/log/${locator}
  ${serviceUrl}/log/list?partyLocator=${party_locator}
  ${serviceUrl}/log/list?eventType=claim.rejected&status=SENT
  ${serviceUrl}/readyz
  psql ${database} -c 'SELECT * FROM notifications.notification_log ORDER BY locator DESC LIMIT 10'

Ask the command line, in another terminal and this folder
  export PATH=$PWD/node_modules/.bin:$PATH; set -a; . ./${envFile}; set +a
  src/main.ts why ${locator}
  src/main.ts doctor

Publish an event of your own, then look at the list again
  echo '${event}' | MQ_BROKERS=${brokers} node_modules/.bin/node test/stack/publish.ts ${topics.claims}`
}
