import type { DatabaseTransactionConnection } from 'slonik'
import type { Entry } from '../../core/log/entry.ts'
import { databaseMessage } from '../connection/errors.ts'
import { insertDecisions, insertEntries, type Provenance } from './insert-entries.ts'
import { knownGood, refusal } from './trial.ts'

/**
 * Finds the rows that PostgreSQL itself refuses, by bisection: each trial runs in a savepoint and is rolled back,
 * before anything is sent. Returns the refusal by locator. First a known-good row is tried: if that is refused too, the
 * schema is at fault and no message, and the refusal is thrown.
 */
export async function findRefused(
  tx: DatabaseTransactionConnection,
  entries: readonly Entry[],
  provenance: Provenance,
): Promise<ReadonlyMap<string, string>> {
  const first = entries[0]
  if (first === undefined) return new Map()
  const attempt = (part: readonly Entry[]) =>
    refusal(tx, async (savepoint) => {
      await insertEntries(savepoint, part)
      await insertDecisions(savepoint, part, new Map(), provenance)
    })
  const schemaFault = await attempt([knownGood(first.locator)])
  if (schemaFault !== null) throw schemaFault
  const refused = new Map<string, string>()
  const bisect = async (part: readonly Entry[]): Promise<void> => {
    const error = await attempt(part)
    if (error === null) return
    const [only, ...others] = part
    if (only !== undefined && others.length === 0) {
      refused.set(only.locator, databaseMessage(error))
      return
    }
    const middle = part.length >> 1
    await bisect(part.slice(0, middle))
    await bisect(part.slice(middle))
  }
  await bisect(entries)
  return refused
}
