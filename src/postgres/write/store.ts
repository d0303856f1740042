import type { DatabasePool, DatabaseTransactionConnection } from 'slonik'
import type { Store, Transaction } from '../../core/attempt/store.ts'
import { databaseMessage, refusesData } from '../connection/errors.ts'
import { lockCheckpoint } from './checkpoints.ts'
import { insertEntries } from './insert-entries.ts'
import { insertRejectedMessages } from './insert-rejected-messages.ts'
import { lockEntries } from './lock-entries.ts'
import { readPreferences } from './read-preferences.ts'
import { recordDecisions } from './record-decisions.ts'
import { lockRejected, recordRedrive } from './record-redrive.ts'
import { markSendFailures, updateEntries } from './update-entries.ts'

export function createStore(pool: DatabasePool): Store {
  return {
    transaction: (work) => pool.transaction((tx) => work(transactionOf(tx))),
    refusesData,
  }
}

class RollBack extends Error {}

function transactionOf(tx: DatabaseTransactionConnection): Transaction {
  return {
    lockCheckpoint: (partition) => lockCheckpoint(tx, partition),
    lockEntries: (due, isRequested) => lockEntries(tx, due, isRequested),
    lockRejected: (id) => lockRejected(tx, id),
    readPreferences: (partyLocators) => readPreferences(tx, partyLocators),
    insertEntries: (attempts) => insertEntries(tx, attempts),
    updateEntries: (attempts) => updateEntries(tx, attempts),
    insertRejected: (partition, rejected) => insertRejectedMessages(tx, partition, rejected),
    markSendFailures: (deliveries) => markSendFailures(tx, deliveries),
    recordDecisions: (...decisions) => recordDecisions(tx, ...decisions),
    recordRedrive: (...redrive) => recordRedrive(tx, ...redrive),
    tryOut: async (work) => {
      try {
        await tx.transaction(async (savepoint) => {
          await work(transactionOf(savepoint))
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
