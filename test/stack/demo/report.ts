import type { Publication, Topics } from './messages.ts'
import type { Outcome, Sample } from './outcome.ts'

/** Where to look further. */
export interface Places {
  serviceUrl: string
  consoleUrl: string
  /** As one would name it to psql. */
  database: string
  brokers: string
  topics: Topics
  /** Holds the environment of the service, for a shell. */
  envFile: string
}

/** The outcome as text for people. */
export function reportText(publication: Publication, outcome: Outcome, places: Places): string {
  return [
    balance(publication, outcome),
    table(outcome.rows),
    rejections(outcome),
    ...outcome.samples.map(sampleText),
    whereToLook(outcome, places),
    commandLine(outcome, places),
    ownEvent(places),
  ].join('\n\n')
}

function balance({ messages, eventIds }: Publication, { rowCount, rejectedCount }: Outcome): string {
  const absorbed = messages.length - rowCount - rejectedCount
  const result =
    rowCount === eventIds.length
      ? 'each event has exactly one row'
      : `WRONG: there are ${eventIds.length} events, each of which should have one row`
  return `What became of ${messages.length} messages: ${rowCount} log rows, ${absorbed} duplicates absorbed, ${rejectedCount} rejected; ${result}.`
}

function table(rows: Outcome['rows']): string {
  const cells = rows.map(({ status, channel, reason, count }) => [status, channel, String(count), reason])
  const all = [['status', 'channel', 'count', 'reason'], ...cells]
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const [statusWidth = 0, channelWidth = 0, countWidth = 0] = widths
  return all
    .map(([status = '', channel = '', count = '', reason = '']) =>
      `  ${status.padEnd(statusWidth)}  ${channel.padEnd(channelWidth)}  ${count.padStart(countWidth)}  ${reason}`.trimEnd(),
    )
    .join('\n')
}

function rejections({ rejected }: Outcome): string {
  return [
    'Messages that are not valid events, stored whole in notifications.rejected_message:',
    ...rejected.map(({ error, count }) => `  ${count}  ${error}`),
  ].join('\n')
}

const SENT_BY: Record<string, string> = { EMAIL: 'Email', SMS: 'Text message', IN_APP: 'Message in the app' }

function sampleText({ channel, partyLocator, eventType, subject, body }: Sample): string {
  const lines = [`Subject: ${subject}`, '', ...body.trim().split('\n')]
  return [
    `${SENT_BY[channel] ?? channel} to ${partyLocator} (${eventType}):`,
    ...lines.map((line) => `  │ ${line}`.trimEnd()),
  ].join('\n')
}

function whereToLook({ samples }: Outcome, { serviceUrl, consoleUrl, database }: Places): string {
  const [sample] = samples
  return [
    'Look at',
    `  ${consoleUrl}`,
    `  ${serviceUrl}/log/list`,
    ...(sample
      ? [
          `  ${serviceUrl}/log/${sample.locator}`,
          `  ${serviceUrl}/log/list?partyLocator=${sample.partyLocator}`,
        ]
      : []),
    `  ${serviceUrl}/log/list?status=FAILED`,
    `  ${serviceUrl}/log/list?eventType=claim.rejected&status=SENT`,
    `  ${serviceUrl}/readyz`,
    `  psql ${database} -c 'SELECT * FROM notifications.notification_log ORDER BY locator DESC LIMIT 10'`,
  ].join('\n')
}

function commandLine({ samples: [sample] }: Outcome, { envFile }: Places): string {
  return [
    'Ask the command line, in another terminal and this folder',
    `  export PATH=$PWD/node_modules/.bin:$PATH; set -a; . ./${envFile}; set +a`,
    ...(sample ? [`  src/main.ts why ${sample.locator}`] : []),
    '  src/main.ts doctor',
  ].join('\n')
}

function ownEvent({ brokers, topics }: Places): string {
  const envelope = {
    eventId: 'my-first-event',
    eventType: 'claim.paid',
    partyLocator: 'party-0030',
    payload: { locator: 'CLM-1' },
  }
  return [
    'Publish an event of your own, then look at the list again',
    `  echo '${JSON.stringify(envelope)}' | MQ_BROKERS=${brokers} node_modules/.bin/node test/stack/publish.ts ${topics.claims}`,
  ].join('\n')
}
