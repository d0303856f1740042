import t from 'tap'
import type { ExplainedLogEntry, LogEntry } from '../../src/core/log/log-entry.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'
import { onlyRowOf } from './rows.ts'

const COUNT = 120

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

/** All entries of the log, page by page. */
async function all(limit: number): Promise<LogEntry[]> {
  const items: LogEntry[] = []
  let cursor: string | null = ''
  for (let pageCount = 0; cursor !== null; pageCount++) {
    if (pageCount > COUNT) throw new Error('the pages never end')
    const next: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { body } = await get<Page>(`/log/list?limit=${limit}${next}`)
    if (body.items.length > limit) throw new Error(`${body.items.length} entries on a page of ${limit}`)
    items.push(...body.items)
    cursor = body.nextCursor
  }
  return items
}

t.test('the list shows all entries, newest first, in pages of any size', async (t) => {
  const { body } = await get<Page>('/notifications/list')
  t.strictSame(
    body.items.map(({ locator }) => locator),
    newestFirst.slice(0, 50),
  )
  for (const limit of [7, 60, 200]) {
    t.strictSame(
      (await all(limit)).map(({ locator }) => locator),
      newestFirst,
    )
  }
})

t.test('one entry says why it is as it is, and leads to its trace', async (t) => {
  const skipped = onlyRowOf(log, events[0] ?? anEvent())
  t.match(await get<ExplainedLogEntry>(`/log/${skipped.locator}`), {
    status: 200,
    body: {
      status: 'SKIPPED',
      failureReason: 'party not found',
      decisions: [{ attempt: 0, outcome: 'SKIP', ruleId: 'party-not-found', topic: world.topics.claims }],
    },
  })
  const sent = onlyRowOf(log, events[1] ?? anEvent())
  const { body } = await get<ExplainedLogEntry>(`/notifications/${sent.locator}`)
  t.match(body, { subject: sent.subject, body: sent.body })
  t.equal(Date.parse(body.sentAt ?? ''), Number(sent.sent_at))
  t.match(body.decisions, [{ outcome: 'SEND', traceUrl: `https://traces.example/${TRACE_ID}` }])
  const why = await command(['why', body.eventId], { ...world.env, TRACE_URL })
  t.match(why.stdout, `  trace https://traces.example/${TRACE_ID}\n`)
})
