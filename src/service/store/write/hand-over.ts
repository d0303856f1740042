import { type DatabaseTransactionConnection, sql } from 'slonik'
import type { Query } from '../../decide/attempt/delivery.ts'
import { databaseMessage, isTransactionRollback, sqlState } from '../connection/errors.ts'
import { SETTINGS } from '../connection/pool.ts'

/**
 * Each statement has a savepoint, so that a refused one does not abort the transaction with the rows of both channels. It gets the
 * usual time limits even in a shared transaction, whose own are short (checkpoints.ts): a timeout would count the message as not
 * accepted. They hold for the rest of the transaction.
 */
export async function handOver<Result>(
  tx: DatabaseTransactionConnection,
  send: (query: Query) => Promise<Result>,
): Promise<Result> {
  let isOver = false
  let rollback: unknown = null
  let last: Promise<unknown> | null = null
  const resetLimits = () =>
    tx.query(sql.unsafe`
      SELECT set_config('lock_timeout', ${SETTINGS.lock_timeout}, true),
        set_config('statement_timeout', ${SETTINGS.statement_timeout}, true)`)
  const query: Query = (statement, values = []) => {
    const run = async () => {
      if (isOver) throw new Error('the attempt no longer waits for this sender: nothing is written')
      try {
        const token = { ...sql.unsafe``, sql: statement, values } as ReturnType<typeof sql.unsafe>
        const { rows } = await tx.transaction((savepoint) => savepoint.query(token))
        return rows as Awaited<ReturnType<Query>>
      } catch (error) {
        if (isTransactionRollback(error)) rollback = error
        if (!(error instanceof Error)) throw error
        throw Object.assign(new Error(databaseMessage(error), { cause: error }), { code: sqlState(error) })
      }
    }
    last ??= resetLimits()
    const result = last.then(run)
    last = result.catch(() => {})
    return result
  }
  const sent = await send(query).finally(() => {
    isOver = true
  })
  await last
  if (rollback !== null) throw rollback
  return sent
}
