import t from 'tap'
import type { ExplainedLogEntry, LogEntry } from '../../src/core/log/log-entry.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

const COUNT = 120
const PATHS = ['/log', '/notifications']

const world = await aWorld(t, { partitionCount: 1 })
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACE_URL = 'https://traces.example/{traceId}'

const { url } = await world.serve({ BATCH_MAX: '50', TRACE_URL })
const events = Array.from({ length: COUNT }, (_, i) =>
  anEvent({
    eventType: i % 3 === 0 ? 'claim.approved' : 'claim.paid',
    partyLocator: i % 4 === 0 ? 'unknown-1' : `party-${i % 5}`,
  }),
)
const traced = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` }
await world.publish(events.map((event, i) => (i === 1 ? { ...event, headers: traced } : event)))
await world.caughtUp()
const log = await world.sql(
  'SELECT * FROM notifications.notification_log ORDER BY created_at DESC, locator DESC',
)
const newestFirst = log.map(({ locator }) => locator)

async function get<T>(path: string): Promise<{ status: number; type: string | null; body: T }> {
  const response = await fetch(`${url}${path}`)
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: (await response.json()) as T,
  }
}

/** A page as clients see it. */
interface Page {
  readonly items: readonly LogEntry[]
  readonly nextCursor: string | null
}

/** All entries that a list holds, page by page. */
async function all(path: string, limit: number): Promise<LogEntry[]> {
  const items: LogEntry[] = []
  let cursor: string | null = ''
  for (let pageCount = 0; cursor !== null; pageCount++) {
    if (pageCount > COUNT) throw new Error('the pages never end')
    const next: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { body } = await get<Page>(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}${next}`)
    if (body.items.length > limit) throw new Error(`${body.items.length} entries on a page of ${limit}`)
    items.push(...body.items)
    cursor = body.nextCursor
  }
  return items
}

for (const path of PATHS) {
  t.test(`${path}/list shows all entries, newest first, in pages of any size`, async (t) => {
    const { body } = await get<Page>(`${path}/list`)
    t.strictSame(
      body.items.map(({ locator }) => locator),
      newestFirst.slice(0, 50),
    )
    for (const limit of [7, 60, 200]) {
      t.strictSame(
        (await all(`${path}/list`, limit)).map(({ locator }) => locator),
        newestFirst,
      )
    }
    t.strictSame(
      body.items.map(({ createdAt }) => createdAt),
      body.items
        .map(({ createdAt }) => createdAt)
        .toSorted()
        .reverse(),
    )
  })

  t.test(`${path}/{locator} shows one entry and why it is as it is`, async (t) => {
    const event = events[0] ?? anEvent()
    const row = onlyRowOf(log, event)
    const decision = onlyRowOf(await rowsOf(world, 'decision'), event)
    const { status, body } = await get<ExplainedLogEntry>(`${path}/${row.locator}`)
    t.equal(status, 200)
    const { createdAt, decisions, ...entry } = body
    t.strictSame(entry, {
      givenUp: false,
      locator: row.locator,
      eventId: event.eventId,
      partyLocator: 'unknown-1',
      eventType: 'claim.approved',
      channel: 'EMAIL',
      status: 'SKIPPED',
      subject: null,
      body: null,
      failureReason: 'party not found',
      attemptCount: 0,
      sentAt: null,
    })
    t.equal(Date.parse(createdAt), Number(row.created_at))
    t.equal(decisions.length, 1)
    t.match(decisions[0], {
      attempt: 0,
      outcome: 'SKIP',
      ruleId: 'party-not-found',
      facts: decision.facts,
      ruleTableRevision: decision.rule_table_revision,
      envelopeMapRevision: /^[0-9a-f]{64}$/,
      readFrom: { partyLocator: '/partyLocator', locator: '/payload/locator', reason: '/payload/reason' },
      topic: world.topics.claims,
      partition: 0,
      offset: '0',
    })

    const sent = onlyRowOf(log, events[1] ?? anEvent())
    const { body: sentEntry } = await get<ExplainedLogEntry>(`${path}/${sent.locator}`)
    t.equal(sentEntry.subject, sent.subject)
    t.equal(sentEntry.body, sent.body)
    t.equal(Date.parse(sentEntry.sentAt ?? ''), Number(sent.sent_at))
    t.match(sentEntry.decisions, [{ outcome: 'SEND', receipt: `EMAIL:${sentEntry.eventId}/1` }])
    t.match(sentEntry.decisions, [{ traceUrl: `https://traces.example/${TRACE_ID}` }])
    const why = await command(['why', sentEntry.eventId], { ...world.env, TRACE_URL })
    t.match(why.stdout, `  trace https://traces.example/${TRACE_ID}\n`)
  })
}
