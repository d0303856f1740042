import { type CommonQueryMethods, sql } from 'slonik'

/** Any fixed number: with the hash of a party it is the advisory lock of that party's preferences. */
const PREFERENCES_LOCK = 4_006

/** Waits for its turn to change a party's preferences, and keeps it until the transaction ends. */
export async function lockPreferences(tx: CommonQueryMethods, partyLocator: string): Promise<void> {
  // A lock on the row would not do: there may be none yet.
  await tx.query(sql.unsafe`
    SELECT pg_advisory_xact_lock(${PREFERENCES_LOCK}, hashtext(${partyLocator}))`)
}
