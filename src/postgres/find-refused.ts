import type { DatabaseTransactionConnection } from 'slonik'
import type { Entry } from '../core/entry.ts'
import { insertDecisions, insertEntries, type Provenance } from './entries.ts'
import { databaseMessage, refusesData } from './errors.ts'

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
  const schemaFault = await refusal(tx, [knownGood(first)], provenance)
  if (schemaFault !== null) throw schemaFault
  const refused = new Map<string, string>()
  const bisect = async (part: readonly Entry[]): Promise<void> => {
    const error = await refusal(tx, part, provenance)
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

class RollBack extends Error {}

/** Tries to insert the rows, rolls back, and returns the error by which PostgreSQL refused them, if it did. */
async function refusal(
  tx: DatabaseTransactionConnection,
  entries: readonly Entry[],
  provenance: Provenance,
): Promise<Error | null> {
  try {
    await tx.transaction(async (savepoint) => {
      await insertEntries(savepoint, entries)
      await insertDecisions(savepoint, entries, new Map(), provenance)
      throw new RollBack()
    })
    return null
  } catch (error) {
    if (error instanceof RollBack) return null
    if (error instanceof Error && refusesData(error)) return error
    throw error
  }
}

/** A row with nothing of the message in it, so that only the schema can refuse it. */
function knownGood(pattern: Entry): Entry {
  const { locator, offset } = pattern
  const eventType = 'probe'
  return {
    locator,
    offset,
    event: {
      eventId: locator,
      eventType,
      partyLocator: null,
      partyLocatorInvalid: false,
      locator: '',
      reason: null,
      traceId: null,
    },
    decision: {
      ruleId: 'probe',
      outcome: 'SKIP',
      channel: 'EMAIL',
      reason: 'probe',
      failureReason: 'probe',
      facts: {
        eventType,
        party: 'missing',
        optedOut: false,
        preferredChannel: 'EMAIL',
        emailOnFile: null,
        phoneOnFile: null,
      },
      preferenceChangeId: null,
    },
    status: 'SKIPPED',
    text: null,
    variables: null,
    templateRevision: null,
    attemptCount: 0,
    address: null,
  }
}
