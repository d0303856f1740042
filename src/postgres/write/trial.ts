import type { DatabaseTransactionConnection } from 'slonik'
import type { Entry } from '../../core/log/entry.ts'
import { refusesData } from '../connection/errors.ts'

class RollBack extends Error {}

/** Writes in a savepoint, rolls back, and returns the error by which PostgreSQL refused the data, if it did. */
export async function refusal(
  tx: DatabaseTransactionConnection,
  write: (savepoint: DatabaseTransactionConnection) => Promise<unknown>,
): Promise<Error | null> {
  try {
    await tx.transaction(async (savepoint) => {
      await write(savepoint)
      throw new RollBack()
    })
    return null
  } catch (error) {
    if (error instanceof RollBack) return null
    if (error instanceof Error && refusesData(error)) return error
    throw error
  }
}

/** A failed row with nothing of any message in it: only the schema can refuse it. */
export function knownGood(locator: string): Entry {
  const eventType = 'probe'
  return {
    locator,
    offset: 0n,
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
      outcome: 'FAIL',
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
    status: 'FAILED',
    text: { subject: 'probe', body: 'probe' },
    variables: null,
    templateRevision: null,
    attemptCount: 0,
    address: null,
  }
}
