import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import type { Store, Transaction } from '../../decide/attempt/store.ts'
import { databaseMessage, isWorthRestart, refusesData } from '../connection/errors.ts'
import { readHolds } from '../read/read-holds.ts'
import { readPreferences } from '../read/read-preferences.ts'
import { readHoldsLocked } from './attempts-lock.ts'
import { lockCheckpoints } from './checkpoints.ts'
import { handOver } from './hand-over.ts'
import { insertEntries, markSendFailures } from './insert-entries.ts'
import { insertRejectedMessages } from './insert-rejected-messages.ts'
import { lockEntries } from './lock-entries.ts'
import { lockRejected } from './lock-rejected.ts'
import { recordDecisions } from './record-decisions.ts'
import { recordRedrive } from './record-redrive.ts'
import { lockRequest, recordProgress } from './request-row.ts'
import { updateEntries } from './update-entries.ts'

export function createStore(pool: DatabasePool): Store {
  return {
    transaction: (work) => pool.transaction((tx) => work(createTransaction(tx))),
    readHolds: () => readHolds(pool),
    refusesData,
    isWorthRestart,
  }
}

class RollBack extends Error {}

function createTransaction(tx: DatabaseTransactionConnection): Transaction {
  return {
    lockCheckpoints: (...args) => lockCheckpoints(tx, ...args),
    lockEntries: (...args) => lockEntries(tx, ...args),
    lockRejected: (...args) => lockRejected(tx, ...args),
    lockRequest: (...args) => lockRequest(tx, ...args),
    readHolds: () => readHoldsLocked(tx),
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
