import t from 'tap'
import { getRequest } from '../../../../src/operations/requests/list-requests.ts'
import { resolveTarget } from '../../../../src/operations/requests/resolve-target.ts'
import type { LogFilter, LogFilterName } from '../../../../src/service/model/log/log-filters.ts'
import { addRequest, cancelRequest, takeRequest } from '../../../../src/service/store/write/request-row.ts'
import type { Since } from '../../../../src/service/time/duration.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
const TIME = '2026-01-31T12:00:00.000000Z'

/** A value of each filter. */
const FILTERS: Readonly<{ [Name in LogFilterName]-?: NonNullable<LogFilter<Since>[Name]> }> = {
  locator: 'NTF-1',
  partyLocator: 'PTY-1',
  eventType: 'claim.paid',
  status: 'SKIPPED',
  notTold: true,
  channel: 'SMS',
  eventId: 'event-1',
  reference: 'CLM-1',
  reason: 'party not found',
  reasonPrefix: 'party',
  rule: 'no-email',
  request: '3',
  from: TIME,
  to: 60_000,
}

t.test('a request with any filter can be read by those who carry it out', async (t) => {
  for (const [name, value] of Object.entries(FILTERS)) {
    const filter: LogFilter<Since> = { [name]: value }
    const id = await addRequest(pool, await resolveTarget(pool, { kind: 'retry', filter }), 'alice', 'a test')
    t.equal((await takeRequest(pool, [], false))?.id, id, name)
    await cancelRequest(pool, id, 'alice')
  }
})

t.test('a request takes nothing that is logged after it, whatever its period', async (t) => {
  const { target } = await resolveTarget(pool, {
    kind: 'retry',
    filter: { to: '9999-01-01T00:00:00.000000Z' },
  })
  t.match(target, { filter: { to: /^2/ } })
})

t.test('a key stores one request of its author, also at once', async (t) => {
  const target = await resolveTarget(pool, { kind: 'retry', filter: {} })
  const add = (by: string, key: string) => addRequest(pool, target, by, 'a test', key)
  const [key, other] = ['0'.repeat(32), '1'.repeat(32)]
  const [first, second] = await Promise.all([add('alice', key), add('alice', key)])
  t.equal(first, second)
  t.equal(await add('alice', key), first)
  const others = [
    await add('alice', other),
    await add('bob', key),
    await addRequest(pool, target, 'alice', 'a test'),
    await addRequest(pool, target, 'alice', 'a test'),
  ]
  t.equal(new Set([first, ...others]).size, 5, 'other keys, authors and requests without a key')
  for (const id of [first, ...others]) await cancelRequest(pool, id, 'alice')
})

/** What only another version can have stored. */
const UNREADABLE = [
  ['a filter', { kind: 'retry', target: { filter: { to: TIME, colour: 'red' } }, progress: null }],
  ['a filter', { kind: 'retry', target: { filter: { to: TIME, channel: 'FAX' } }, progress: null }],
  ['a progress', { kind: 'retry', target: { filter: { to: TIME } }, progress: 'page 2' }],
  ['a progress', { kind: 'dismiss', target: { ids: ['7'] }, progress: { createdAt: TIME, locator: 'x' } }],
] as const
for (const [what, { kind, target, progress }] of UNREADABLE)
  t.test(`${what} of another version is never passed over: the ${kind} waits, and says why`, async (t) => {
    const { rows } = await client.query(
      `INSERT INTO notifications.request (kind, target, progress, requested_by, because)
       VALUES ($1, $2, $3, 'alice', 'a test') RETURNING id::text`,
      [kind, JSON.stringify(target), JSON.stringify(progress)],
    )
    t.equal(await takeRequest(pool, [], false), null)
    t.match(await getRequest(pool, rows[0].id), {
      endedAt: null,
      note: /^this version of the service cannot/,
    })
    await cancelRequest(pool, rows[0].id, 'alice')
  })
