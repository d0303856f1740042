import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import type { Query } from '../../core/attempt/delivery.ts'
import type { Store, Transaction } from '../../core/attempt/store.ts'
import { databaseMessage, isTransactionRollback, refusesData, sqlState } from '../connection/errors.ts'
import { SETTINGS } from '../connection/pool.ts'
import { readPreferences } from '../read/read-preferences.ts'
import { lockCheckpoints } from './checkpoints.ts'
import { insertEntries } from './insert-entries.ts'
import { insertRejectedMessages } from './insert-rejected-messages.ts'
import { lockEntries } from './lock-entries.ts'
import { recordDecisions } from './record-decisions.ts'
import { lockRejected, recordRedrive } from './record-redrive.ts'
import { lockRequest, recordProgress } from './requests.ts'
import { markSendFailures, updateEntries } from './update-entries.ts'

export function createStore(pool: DatabasePool): Store {
  return {
    transaction: (work) => pool.transaction((tx) => work(createTransaction(tx))),
    refusesData,
  }
}

class RollBack extends Error {}

function createTransaction(tx: DatabaseTransactionConnection): Transaction {
  return {
    lockCheckpoints: (...args) => lockCheckpoints(tx, ...args),
    lockEntries: (...args) => lockEntries(tx, ...args),
    lockRejected: (...args) => lockRejected(tx, ...args),
    lockRequest: (...args) => lockRequest(tx, ...args),
    readPreferences: (...args) => readPreferences(tx, ...args),
    insertEntries: (...args) => insertEntries(tx, ...args),
    handOver: (send) => handOver(tx, send),
    updateEntries: (...args) => updateEntries(tx, ...args),
    insertRejected: (...args) => insertRejectedMessages(tx, ...args),
    markSendFailures: (...args) => markSendFailures(tx, ...args),
    recordDecisions: (...args) => recordDecisions(tx, ...args),
    recordRedrive: (...args) => recordRedrive(tx, ...args),
    recordProgress: (...args) => recordProgress(tx, ...args),
    tryOut: async (work) => {
      try {
        await tx.transaction(async (savepoint) => {
          await work(createTransaction(savepoint))
          // Deferred triggers and constraints would answer only at COMMIT.
          await savepoint.query(sql.unsafe`SET CONSTRAINTS ALL IMMEDIATE`)
          throw new RollBack()
        })
        return null
      } catch (error) {
        if (error instanceof RollBack) return null
        if (error instanceof Error && refusesData(error))
          return new Error(databaseMessage(error), { cause: error })
        throw error
      }
    },
  }
}

/**
 * Each statement has a savepoint: a refused one must not abort the transaction, with all rows of both channels. It has the usual
 * limits of time, also in a shared transaction, whose own are short (checkpoints.ts): else the message would count as not accepted.
 * They hold for the rest of the transaction.
 */
async function handOver<Result>(
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
