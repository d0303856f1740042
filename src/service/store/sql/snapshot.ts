import { type CommonQueryMethods, sql } from 'slonik'

/** Runs reads that all see the database as of the first one. PostgreSQL refuses writes among them. */
export function inSnapshot<Result>(
  pool: CommonQueryMethods,
  read: (tx: CommonQueryMethods) => Promise<Result>,
): Promise<Result> {
  return pool.transaction(async (tx) => {
    await tx.query(sql.unsafe`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`)
    return read(tx)
  })
}
