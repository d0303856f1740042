import type { AttemptMaker } from '../../../src/service/attempt/transact.ts'
import type { Attempt } from '../../../src/service/decide/attempt/attempt.ts'
import type { Store } from '../../../src/service/decide/attempt/store.ts'
import type { Clock } from '../../../src/service/time/clock.ts'
import { anOpenAttempt, recordingSend, SIMPLE_RULES } from '../decide/attempt/build.ts'
import { aMaker } from './build.ts'
import { MemoryStore } from './memory-store.ts'

/** Retries whatever is due, in a store that locks each row and keeps nothing but what `record` does with the attempts. */
export function aRetryMaker(
  record: (attempts: readonly Attempt[]) => Promise<void>,
  ticking: Partial<Clock> = {},
): AttemptMaker {
  const { origin, variables, stated } = anOpenAttempt('')
  const locked = { origin, variables, stated, templateRevision: 'rev' }
  const session = new MemoryStore().connect()
  const store: Store = {
    ...session,
    transaction: (work) =>
      session.transaction((tx) =>
        work({
          ...tx,
          lockEntries: async (due) => new Map(due.map(({ locator }) => [locator, locked])),
          updateEntries: async () => {},
          recordDecisions: record,
        }),
      ),
  }
  return aMaker(store, recordingSend().send, SIMPLE_RULES, ticking)
}
