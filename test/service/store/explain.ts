import { type CommonQueryMethods, type DatabasePool, type QuerySqlToken, sql } from 'slonik'
import { z } from 'zod'
import { QUERY_METHODS } from '../../../src/service/store/connection/bounded-pool.ts'

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

export interface Reads extends ReturnType<typeof readsOf> {
  readonly statement: string
}

const METHODS: readonly unknown[] = QUERY_METHODS

/** A pool that tells what each statement reads before it runs it, within transactions, too. */
export function explaining(pool: DatabasePool, onReads: (reads: Reads) => void): DatabasePool {
  const wrap = <Connection extends CommonQueryMethods>(connection: Connection): Connection =>
    new Proxy(connection, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        if (name === 'transaction')
          return (use: (tx: CommonQueryMethods) => unknown) =>
            method.call(target, (inner: CommonQueryMethods) => use(wrap(inner)))
        if (!METHODS.includes(name)) return method
        return async (query: QuerySqlToken) => {
          if (!/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)/.test(query.sql)) return method.call(target, query)
          const plan = await explainUndone(connection, query)
          onReads({ statement: query.sql.trim().replaceAll(/\s+/g, ' '), ...readsOf(plan) })
          return method.call(target, query)
        }
      },
    })
  return wrap(pool)
}

/** The plan of a statement that may write; what it writes is undone. */
function explainUndone(connection: CommonQueryMethods, query: QuerySqlToken): Promise<Node> {
  return connection.transaction(async (tx) => {
    await tx.query(sql.unsafe`SAVEPOINT explained`)
    const plan = await explain(tx, query)
    await tx.query(sql.unsafe`ROLLBACK TO SAVEPOINT explained`)
    return plan
  })
}
