import type { QueryResultRow } from 'pg'
import type { World } from '../stack/world.ts'

type Table = 'notification_log' | 'decision' | 'rejected_message' | 'projection_checkpoints'

/** All rows of one of the service's tables, as the driver reads them: bigint as text, times as Date, JSON parsed. */
export function rowsOf(world: World, table: Table): Promise<QueryResultRow[]> {
  return world.sql(`SELECT * FROM notifications.${table}`)
}

export async function rowCount(world: World): Promise<number> {
  const [row] = await world.sql('SELECT count(*)::int FROM notifications.notification_log')
  return row?.count ?? 0
}

/** The only row of an event. Throws where it has none, or several. */
export function onlyRowOf(rows: readonly QueryResultRow[], { eventId }: { eventId: string }): QueryResultRow {
  const found = rows.filter((row) => row.event_id === eventId)
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${eventId} has ${found.length} rows`)
  return found[0]
}

/**
 * All rows that the service has written, as text, and the bytes of rejected messages: to search for what must be nowhere.
 * @param leftOut tables that are not of interest
 */
export async function everything(
  sql: (query: string, values: unknown[]) => Promise<QueryResultRow[]>,
  leftOut: readonly string[] = [],
): Promise<string> {
  const tables = await sql(
    `SELECT table_name FROM information_schema.tables WHERE table_schema = 'notifications' AND table_name <> ALL($1)`,
    [leftOut],
  )
  const queries = tables.map(
    ({ table_name }) => `SELECT t::text AS text FROM notifications.${table_name} AS t`,
  )
  const bytes = `SELECT encode(value, 'escape') FROM notifications.rejected_message WHERE value IS NOT NULL`
  const rows = await sql(`${[...queries, bytes].join(' UNION ALL ')} ORDER BY 1`, [])
  return rows.map(({ text }) => text).join('\n')
}
