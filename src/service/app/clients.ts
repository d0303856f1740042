import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { type Brokers, createBrokers } from '../consume/brokers.ts'
import type { KafkaConnection } from '../consume/kafka-client.ts'
import { createPartyClient, type PartyClient } from '../contacts/client.ts'
import { ADDRESSED_CHANNELS } from '../decide/party/channel.ts'
import { createAccessToken } from '../oauth/access-token.ts'
import { resolveSecret } from '../oauth/file-secret.ts'
import { createEmailSender, createPlaceholderSender } from '../send/placeholders.ts'
import type { Senders } from '../send/send.ts'
import { createLog } from '../telemetry/log.ts'
import { createLookUpCredential } from './look-up-credential.ts'

/** Gives a command access to the brokers, without logging, and closes the connections afterwards. */
export async function withBrokers<T>(
  broker: Config['broker'],
  clientId: string,
  use: (brokers: Brokers) => Promise<T>,
): Promise<T> {
  const brokers = createBrokers(brokerConnection(broker), clientId, createLog('silent'))
  try {
    return await use(brokers)
  } finally {
    await brokers.close()
  }
}

/** Addresses and credentials of the brokers. Clients with the same connection share its access token. */
export function brokerConnection({ connection }: Config['broker']): KafkaConnection {
  const { sasl, ...rest } = connection
  if (sasl === null) return { ...rest, sasl }
  if (sasl.mechanism !== 'oauthbearer') {
    const password = () => resolveSecret(sasl.password, 'MQ_SASL_PASSWORD_FILE')
    return { ...rest, sasl: { ...sasl, password } }
  }
  const { client, ...logIn } = sasl
  const accessToken = createAccessToken(client, 'MQ_SASL_', () => performance.now())
  return { ...rest, sasl: { ...logIn, accessToken } }
}

/** Channels have placeholders, except those named here. A real transport is put in here, see src/service/send/README.md. */
export function createSenders({ smtp }: Config, log: Logger): Senders {
  const named: Partial<Senders> = { EMAIL: createEmailSender(smtp, log) }
  const senders = ADDRESSED_CHANNELS.map((channel) => [
    channel,
    named[channel] ?? createPlaceholderSender(channel, log),
  ])
  return Object.fromEntries(senders) as Senders
}

export function createParties(
  { policyAdministration }: Pick<Config, 'policyAdministration'>,
  log: Logger,
): PartyClient {
  const credential = createLookUpCredential(policyAdministration)
  return createPartyClient({ ...policyAdministration, credential, log })
}
