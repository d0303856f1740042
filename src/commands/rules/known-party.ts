import { createParties } from '../../app/attempts.ts'
import { loadLookUp } from '../../config/config.ts'
import { readFacts } from '../../core/decision/decide.ts'
import type { Preferences } from '../../core/party/preferences.ts'
import type { TriedEvent } from '../../core/rules/try-event.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { readPreferences } from '../../postgres/write/read-preferences.ts'
import { createLog } from '../../telemetry/log.ts'

/**
 * Reads the stored preferences of a real party, and looks up its contact. Throws ConfigError or UnusableDatabaseError; the
 * contact says if policy administration did not answer.
 */
export async function lookUpParty(
  eventType: string,
  partyLocator: string,
): Promise<Pick<TriedEvent, 'facts' | 'contact'>> {
  const { databaseUrl, policyAdministration } = loadLookUp(process.env)
  let preferences: Preferences | undefined
  await withDatabase(databaseUrl, async (pool) => {
    preferences = (await readPreferences(pool, [partyLocator])).get(partyLocator)
  })
  const parties = createParties({ policyAdministration }, createLog('error', process.stderr))
  try {
    const contact = (await parties.lookUp([partyLocator])).get(partyLocator)
    return { facts: readFacts(eventType, { partyLocator, invalid: false }, contact, preferences), contact }
  } finally {
    await parties.close()
  }
}
