import type { CommonQueryMethods, DatabasePool, QuerySqlToken } from 'slonik'

/** Runs one statement, and observes its text as PostgreSQL gets it, without values. */
export type ObserveStatement = <Result>(statement: string, run: () => Promise<Result>) => Promise<Result>

/** The methods of a pool, connection or transaction that run one statement. */
export const QUERY_METHODS = [
  'any',
  'anyFirst',
  'maybeOne',
  'maybeOneFirst',
  'one',
  'oneFirst',
  'query',
] as const satisfies readonly (keyof CommonQueryMethods)[]

/** Wraps a pool so that `observe` sees every statement, COMMIT included. */
export function observedPool(pool: DatabasePool, observe: ObserveStatement): DatabasePool {
  return Object.assign(observed(pool, observe), {
    transaction: async <Result>(
      handler: (tx: CommonQueryMethods) => Promise<Result>,
      retryLimit?: number,
    ): Promise<Result> => {
      const committed = Promise.withResolvers<void>()
      try {
        const result = await pool.transaction(async (tx) => {
          const handled = await handler(observed(tx, observe))
          void observe('COMMIT', () => committed.promise).catch(() => {})
          return handled
        }, retryLimit)
        committed.resolve()
        return result
      } catch (error) {
        committed.promise.catch(() => {})
        committed.reject(error)
        throw error
      }
    },
  })
}

function observed<Connection extends CommonQueryMethods>(
  connection: Connection,
  observe: ObserveStatement,
): Connection {
  const methods = QUERY_METHODS.map((name) => {
    const run = (query: QuerySqlToken) =>
      observe(query.sql, () =>
        (connection[name] as (query: QuerySqlToken) => Promise<unknown>).call(connection, query),
      )
    return [name, run]
  })
  return Object.assign(Object.create(connection), Object.fromEntries(methods), {
    transaction: (handler: (tx: CommonQueryMethods) => Promise<unknown>, retryLimit?: number) =>
      connection.transaction((tx) => handler(observed(tx, observe)), retryLimit),
  })
}
