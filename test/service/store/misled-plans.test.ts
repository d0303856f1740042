import type { QuerySqlToken } from 'slonik'
import t from 'tap'
import { pageOfPartyQuery } from '../../../src/operations/erase/erase-entries.ts'
import { failedCountsQuery } from '../../../src/service/store/read/count-failed-entries.ts'
import { DECIDED_COUNT_MAX, logPageQuery } from '../../../src/service/store/read/list-log-entries.ts'
import { explain, readsOf } from './explain.ts'
import { LIMITS, openDatabase } from './fixtures.ts'
import { fillMisled, MISLEADING, ROW_COUNT } from './misled-log.ts'

// Each statement reads a number of rows that its page bounds, also if the planner is wrong about how many there are.

const { pool, client } = await openDatabase(t)
await fillMisled(client, ROW_COUNT)

const ENTRY_COUNT = 5_000
const start = { createdAt: '-infinity', locator: '' }
const page = { limit: 50, after: null }
const { rows: places } = await client.query(
  'SELECT locator FROM notifications.notification_log ORDER BY locator OFFSET 60000 LIMIT 2',
)
const middle = { createdAt: '2026-01-01T00:00:00.000000Z', locator: places[0].locator }

/** Statements, and rows that each may read. */
const STATEMENTS: Readonly<Record<string, readonly [query: QuerySqlToken, readMax: number]>> = {
  'entries of a party': [pageOfPartyQuery('party-hot', start), 4 * ENTRY_COUNT],
  'entries of a request': [logPageQuery(LIMITS, { request: '7' }, page), 400],
  'entries of a request, in the middle': [
    logPageQuery(LIMITS, { request: '7' }, { ...page, after: middle }),
    400,
  ],
  'entries of a reference': [logPageQuery(LIMITS, { reference: 'CLM-hot' }, page), 400],
  'entries of a reference and a request': [
    logPageQuery(LIMITS, { reference: 'CLM-hot', request: '7' }, page),
    500,
  ],
  'entries of a reference and a request, none of which match': [
    logPageQuery(LIMITS, { reference: 'CLM-hot', request: '8' }, page),
    5 * DECIDED_COUNT_MAX,
  ],
  'entries of a request and a party': [
    logPageQuery(LIMITS, { request: '7', partyLocator: 'party-of-nobody' }, page),
    5 * DECIDED_COUNT_MAX,
  ],
  'failed rows': [failedCountsQuery(LIMITS), 2 * 10_000 + ROW_COUNT / 10],
}

for (const [what, mislead] of Object.entries(MISLEADING)) {
  t.test(`with ${what}, each statement reads what its page bounds`, async (t) => {
    await mislead(client)
    for (const [statement, [query, readMax]] of Object.entries(STATEMENTS)) {
      const { read, blocks } = readsOf(await explain(pool, query))
      t.ok(read <= readMax, `${statement}: ${read} rows, ${blocks} blocks`)
    }
  })
}
