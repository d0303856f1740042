import type { Attempt } from '../../../../src/service/decide/attempt/attempt.ts'
import type { Store, Transaction } from '../../../../src/service/decide/attempt/store.ts'
import { partitionKey } from '../../../../src/service/decide/event/position.ts'
import type { PreferencesByParty } from '../../../../src/service/decide/party/preferences.ts'
import { DatabaseFault } from '../memory-store.ts'
import { PARTIES } from './messages.ts'

/** Replaces a store by one with a defect. `expected` holds the checkpoints that the actor's batches expect, by `partitionKey`. */
export type Sabotage = (store: Store, expected: ReadonlyMap<string, bigint>) => Store

const NO_PREFERENCES = {
  preferredChannel: 'EMAIL',
  optedOutEvents: new Set<string>(),
  hasUnreadableOptOuts: false,
}

/** Defects of the transaction that the simulator must find, each as a store that has it. */
export const DEFECTS: Readonly<Record<string, Sabotage>> = {
  'no fence': (store, expected) =>
    wrap(store, (tx) => ({
      lockCheckpoints: async (_, parties) => {
        await tx.readHolds()
        return { offsets: new Map(expected), preferences: await tx.readPreferences(parties) }
      },
    })),
  'a fence compared after the write': (store, expected) =>
    wrap(store, (tx) => ({
      lockCheckpoints: async (_, parties) => {
        await tx.readHolds()
        return { offsets: new Map(expected), preferences: await tx.readPreferences(parties) }
      },
      recordDecisions: async (attempts, deliveries, revision, moves) => {
        const { offsets } = await tx.lockCheckpoints(moves, [])
        if (moves.some((move) => offsets.get(partitionKey(move)) !== expected.get(partitionKey(move))))
          throw new DatabaseFault('08000', 'moved')
        await tx.recordDecisions(attempts, deliveries, revision, moves)
      },
    })),
  'shared checkpoints that are waited for': (store) =>
    wrap(store, (tx) => ({
      lockCheckpoints: async (partitions, parties) => {
        const locked = []
        for (const partition of partitions) locked.push(await tx.lockCheckpoints([partition], parties))
        const offsets = new Map(locked.flatMap((one) => [...one.offsets]))
        return { offsets, preferences: await tx.readPreferences(parties) }
      },
    })),
  'preferences read before the lock': (store) =>
    wrap(store, (tx) => {
      const read = tx.readPreferences(PARTIES)
      const after =
        <Args extends unknown[], Result>(lock: (...args: Args) => Promise<Result>) =>
        async (...args: Args) => {
          await read
          return lock(...args)
        }
      return {
        lockCheckpoints: async (partitions, parties) => {
          const preferences = await read
          return { ...(await tx.lockCheckpoints(partitions, parties)), preferences }
        },
        lockEntries: after(tx.lockEntries),
        lockRejected: after(tx.lockRejected),
        lockRequest: after(tx.lockRequest),
        readPreferences: () => read,
      }
    }),
  'preferences read only once': (store) =>
    wrap(store, (tx) => {
      let first: ReturnType<Transaction['readPreferences']> | undefined
      const readPreferences: Transaction['readPreferences'] = (parties) =>
        (first ??= tx.readPreferences(parties))
      return {
        readPreferences,
        lockCheckpoints: async (partitions, parties) => {
          const locked = await tx.lockCheckpoints(partitions, parties)
          first = Promise.resolve(locked.preferences)
          return locked
        },
      }
    }),
  'messages sent by the preferences of before': (store) =>
    wrap(store, (tx) => {
      let before: PreferencesByParty | null = null
      return {
        lockCheckpoints: async (partitions, parties) => {
          const locked = await tx.lockCheckpoints(partitions, parties)
          before = locked.preferences
          return locked
        },
        readPreferences: async (parties) => {
          const current = await tx.readPreferences(parties)
          before ??= current
          const known = before
          const old = (party: string) => known.get(party) ?? NO_PREFERENCES
          return new Map([...current].map(([party, { changeId }]) => [party, { ...old(party), changeId }]))
        },
      }
    }),
  'a new row that keeps the decision of before': (store) =>
    wrap(store, (tx) => ({
      updateEntries: (attempts, deliveries) =>
        tx.updateEntries(
          attempts.filter(({ kind }) => kind !== 'first'),
          deliveries,
        ),
    })),
  'a batch that ignores holds': (store) =>
    wrap(store, (tx) => ({
      insertEntries: async (attempts) => ({ ...(await tx.insertEntries(attempts)), holds: [] }),
    })),
  'a retry or redrive that ignores holds': (store) => ({
    ...wrap(store, () => ({ readHolds: async () => [] })),
    readHolds: async () => [],
  }),
  'holds read before attempts are known to run': (store) => ({
    ...store,
    transaction: async (work) => {
      const holds = await store.readHolds()
      const sabotaged = wrap(store, (tx) => ({
        readHolds: async () => holds,
        insertEntries: async (attempts) => ({ ...(await tx.insertEntries(attempts)), holds }),
      }))
      return sabotaged.transaction(work)
    },
  }),
  'rows in no order': (store) => {
    let count = 0
    return wrap(store, (tx) => ({
      insertEntries: (attempts) => tx.insertEntries(count++ % 2 === 0 ? attempts : attempts.toReversed()),
    }))
  },
  'a conflict that is taken for a duplicate in a race': (store) =>
    wrap(store, (tx) => ({
      insertEntries: async (attempts) => ({ ...(await tx.insertEntries(attempts)), taken: new Map() }),
    })),
  'a duplicate that is taken for a conflict in a race': (store) =>
    wrap(store, (tx) => ({
      insertEntries: async (attempts) => {
        const { taken, ...result } = await tx.insertEntries(attempts)
        const others = [...taken].map(([id, row]) => [id, { ...row, eventType: 'another' }] as const)
        return { ...result, taken: new Map(others) }
      },
    })),
  'decisions recorded for rows that lost': (store) =>
    wrap(store, (tx) => {
      let all: readonly Attempt[] = []
      return {
        insertEntries: (attempts) => {
          all = attempts
          return tx.insertEntries(attempts)
        },
        recordDecisions: (attempts, ...rest) =>
          tx.recordDecisions([...new Set([...all, ...attempts])], ...rest),
      }
    }),
  'a checkpoint moved in another transaction': (store) => ({
    ...store,
    transaction: async (work) => {
      let moves: Parameters<Transaction['recordDecisions']>[3] = []
      const result = await wrap(store, (tx) => ({
        recordDecisions: (attempts, deliveries, revision, moved) => {
          moves = moved
          return tx.recordDecisions(attempts, deliveries, revision, [])
        },
      })).transaction(work)
      await store.transaction((tx) => tx.recordDecisions([], new Map(), 'table', moves))
      return result
    },
  }),
  'a deferral that costs an attempt': (store) =>
    wrap(store, (tx) => ({
      recordDecisions: (attempts, ...rest) =>
        tx.recordDecisions(
          attempts.map((attempt) => ({ ...attempt, attemptCount: Math.max(attempt.attemptCount, 1) })),
          ...rest,
        ),
    })),
  'an unknown send that is taken for a refused one': (store) =>
    wrap(store, (tx) => ({
      recordDecisions: (attempts, deliveries, ...rest) => {
        const known = [...deliveries].map(
          ([locator, { receipt, error }]) => [locator, { receipt, error }] as const,
        )
        return tx.recordDecisions(attempts, new Map(known), ...rest)
      },
    })),
  'a page of a request without its fence': (store) => wrap(store, () => ({ lockRequest: async () => true })),
  'a cancelled request that goes on': (store) =>
    wrap(store, (tx) => ({
      lockRequest: async (request) => {
        await tx.lockRequest(request)
        return true
      },
    })),
  'progress recorded in another transaction': (store) => ({
    ...store,
    transaction: async (work) => {
      let recorded: Parameters<Transaction['recordProgress']> | undefined
      const result = await wrap(store, () => ({
        recordProgress: async (...progress) => {
          recorded = progress
        },
      })).transaction(work)
      if (recorded !== undefined) {
        const progress = recorded
        await store.transaction((tx) => tx.recordProgress(...progress))
      }
      return result
    },
  }),
  'a retry on request that ignores erasures': (store) =>
    wrap(store, (tx) => ({ lockEntries: (due) => tx.lockEntries(due, false) })),
  'a message read again that ignores the erasure of its party': (store) =>
    wrap(store, (tx) => ({
      lockEntries: (due, isRequested) => {
        const unnamed = due.map((entry) => (entry.reading ? { ...entry, partyLocator: null } : entry))
        return tx.lockEntries(unnamed, isRequested)
      },
    })),
  'a retry without its lock': (store) =>
    wrap(store, (tx) => ({
      lockEntries: async (...args) => {
        let found: Awaited<ReturnType<Transaction['lockEntries']>> = new Map()
        await tx.tryOut(async (savepoint) => {
          found = await savepoint.lockEntries(...args)
        })
        return found
      },
    })),
}
function wrap(store: Store, change: (tx: Transaction) => Partial<Transaction>): Store {
  return { ...store, transaction: (work) => store.transaction((tx) => work({ ...tx, ...change(tx) })) }
}
