import { type CommonQueryMethods, sql } from 'slonik'

/** Runs reads that all see the database as it was at the first of them. PostgreSQL refuses every write among them. */
export function inSnapshot<Result>(
  pool: CommonQueryMethods,
  read: (tx: CommonQueryMethods) => Promise<Result>,
): Promise<Result> {
  return pool.transaction(async (tx) => {
    await tx.query(sql.unsafe`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`)
    return read(tx)
  })
}
