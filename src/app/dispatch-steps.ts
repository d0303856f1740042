import { parseEvent } from '../core/event/parse-event.ts'
import { templates } from '../generated/templates.ts'
import type { PartyClient } from '../party/client.ts'
import type { DispatchNeeds } from '../pipeline/dispatch.ts'
import { createLocators } from '../pipeline/locators.ts'
import { isConflict } from '../postgres/connection/errors.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { findLogged } from '../postgres/read/find-logged.ts'
import type { RuleFiles } from './rule-files.ts'

/** All that a batch goes through before it is committed. */
export function createDispatchSteps(
  { ruleTable, envelopeMap, envelopeMapRevision }: RuleFiles,
  parties: PartyClient,
  pool: DatabasePool,
): Omit<DispatchNeeds, 'commit'> {
  return {
    parse: (message) => parseEvent(message, envelopeMap),
    envelopeMapRevision: envelopeMapRevision.revision,
    findLogged: (...wanted) => findLogged(pool, ...wanted),
    contactsOf: (partyLocators) => parties.lookUp(partyLocators),
    ruleTable,
    templates,
    isConflict,
    newLocator: createLocators(),
  }
}
