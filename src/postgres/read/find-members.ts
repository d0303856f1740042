import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { sqlArray } from '../sql/columns.ts'

const member = z.object({ locator: z.string(), partyLocator: z.string().nullable(), createdAt: z.string() })

/** Party and creation time of these log entries, by locator. */
export async function findMembers(
  pool: CommonQueryMethods,
  locators: readonly string[],
): Promise<ReadonlyMap<string, z.infer<typeof member>>> {
  const rows = await pool.any(sql.type(member)`
    SELECT locator, party_locator AS "partyLocator", created_at AS "createdAt"
    FROM notifications.notification_log WHERE locator = ANY(${sqlArray('text', locators)})`)
  return new Map(rows.map((row) => [row.locator, row]))
}
