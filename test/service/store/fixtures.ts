import pg from 'pg'
import { type CommonQueryMethods, type QuerySqlToken, sql } from 'slonik'
import { z } from 'zod'
import { groupDecisions } from '../../../src/authoring/back-test/group-decisions.ts'
import type { DecisionPage } from '../../../src/service/model/decision-group.ts'
import { openPool } from '../../../src/service/store/connection/pool.ts'
import { createMigratedDatabase } from '../../stack/databases.ts'

/** A migrated database for one test file: our pool, and a client with which the tests arrange and inspect data. */
export async function openDatabase(t: { teardown: (cleanUp: () => Promise<void>) => void }) {
  const database = await createMigratedDatabase()
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 8 })
  const client = new pg.Client(database.url)
  await client.connect()
  t.teardown(async () => {
    await client.end()
    await pool.end()
    await database.drop()
  })
  return { url: database.url, pool, client }
}

/** Gives rows up after a day or three attempts, as the service does by default. */
export const LIMITS = { maxAgeMs: 86_400_000, attemptCountMax: 3 }

/** The plan by which PostgreSQL runs a query, each line cut off before the ids of its condition. */
export async function planOf(pool: CommonQueryMethods, query: QuerySqlToken): Promise<string> {
  const explained = sql.type(z.object({ 'QUERY PLAN': z.string() }))
  const lines = await pool.anyFirst(explained`EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) ${query}`)
  return lines.map((line) => line.slice(0, 100)).join('\n')
}

/** All pages of the decisions of a period. */
export async function decisionPages(
  pool: CommonQueryMethods,
  from: string,
  { to = null, decisionCountMax }: { readonly to?: string | null; readonly decisionCountMax: number },
): Promise<DecisionPage[]> {
  const pages: DecisionPage[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await groupDecisions(
      pool,
      { from, to, cursor },
      { locatorCountMax: 1_000, decisionCountMax },
    )
    pages.push(page)
    cursor = page.nextCursor
  }
  return pages
}
