import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { type RunStage, unobserved } from '../core/attempt/stage.ts'
import { parseEvent } from '../core/event/parse-event.ts'
import { templates } from '../generated/templates.ts'
import { fingerprintOf } from '../kafka/records/record.ts'
import { createAccessToken } from '../oauth/access-token.ts'
import { createFileSecret } from '../oauth/file-secret.ts'
import { createPartyClient, type PartyClient } from '../party/client.ts'
import type { Credential } from '../party/connection.ts'
import type { AttemptNeeds } from '../pipeline/attempt.ts'
import type { LookUpNeeds } from '../pipeline/dispatch.ts'
import { createLocators } from '../pipeline/locators.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { findLogged } from '../postgres/read/find-logged.ts'
import { createStore } from '../postgres/write/store.ts'
import { createEmailSender, createSmsSender } from '../senders/placeholders.ts'
import { type Senders, sendByChannel } from '../senders/send.ts'
import type { RuleFiles } from './rule-files.ts'

export function createLookUps(
  { envelopeMap, envelopeMapRevision }: RuleFiles,
  contactsOf: LookUpNeeds['contactsOf'],
  pool: DatabasePool,
  stage: RunStage,
): LookUpNeeds {
  return {
    parse: (message) => parseEvent(message, envelopeMap),
    envelopeMapRevision: envelopeMapRevision.revision,
    findLogged: (...wanted) => findLogged(pool, ...wanted),
    contactsOf,
    newLocator: createLocators(),
    fingerprintOf,
    stage,
  }
}

/** Dependencies of the transaction of attempts, with the rules and templates in force. */
export function attemptNeeds(
  config: Config,
  log: Logger,
  { ruleTable }: RuleFiles,
  pool: DatabasePool,
  stage: RunStage = unobserved,
  senders: Senders = createSenders(config, log),
): AttemptNeeds {
  const send = sendByChannel(senders)
  return { ruleTable, templates, store: createStore(pool), send, stage, nowMs: () => performance.now() }
}

/** A real transport replaces a placeholder here, see src/senders/README.md. */
export function createSenders({ smtp }: Config, log: Logger): Senders {
  return { EMAIL: createEmailSender(smtp, log), SMS: createSmsSender(log) }
}

export function createParties(
  { policyAdministration }: Pick<Config, 'policyAdministration'>,
  log: Logger,
): PartyClient {
  const credential = credentialOf(policyAdministration)
  return createPartyClient({ ...policyAdministration, credential, log })
}

function credentialOf({ header, tokenClient }: Config['policyAdministration']): Credential | null {
  const nowMs = () => performance.now()
  if (header !== null) {
    const { name, file } = header
    return {
      secret: createFileSecret(file, 'POLICY_ADMIN_HEADER_FILE', nowMs),
      headers: (value) => ({ [name]: value }),
    }
  }
  return (
    tokenClient && {
      secret: createAccessToken(tokenClient, 'POLICY_ADMIN_', nowMs),
      headers: (token) => ({ authorization: `Bearer ${token}` }),
    }
  )
}
