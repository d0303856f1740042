import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { createPartyClient, type PartyClient } from '../party/client.ts'

export function createParties(
  { policyAdministration }: Pick<Config, 'policyAdministration'>,
  log: Logger,
): PartyClient {
  return createPartyClient({
    baseUrl: policyAdministration.url,
    connectionCountMax: policyAdministration.connections,
    echo: policyAdministration.echo,
    deadlineMs: policyAdministration.deadlineMs,
    log,
  })
}
