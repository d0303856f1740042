import { type CommonQueryMethods, type QuerySqlToken, sql } from 'slonik'
import { z } from 'zod'

/** One node of a plan. */
export interface Node {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Node[]
}

const explained = z.object({ 'QUERY PLAN': z.custom<readonly [{ readonly Plan: Node }]>() })

/** The plan by which PostgreSQL ran a query, with what each node read. */
export async function explain(pool: CommonQueryMethods, query: QuerySqlToken): Promise<Node> {
  const row = await pool.one(
    sql.type(explained)`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${query}`,
  )
  return row['QUERY PLAN'][0].Plan
}

export function readsOf(root: Node) {
  return {
    rows: root['Actual Rows'],
    read: readBy(root),
    blocks: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
  }
}

/** Rows that scans returned, filtered out or rechecked, and pairs that joins compared in vain. */
function readBy(node: Node): number {
  const scanned = /(Index|Index Only|Seq|Heap) Scan/.test(node['Node Type'])
    ? node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0)
    : 0
  const own = scanned + (node['Rows Removed by Join Filter'] ?? 0)
  return (node.Plans ?? []).reduce((sum, child) => sum + readBy(child), own * node['Actual Loops'])
}
