import type { Config } from '../config/config.ts'
import { type Brokers, createBrokers } from '../kafka/brokers.ts'
import type { KafkaConnection } from '../kafka/client.ts'
import { createAccessToken } from '../oauth/access-token.ts'
import { secretOf } from '../oauth/file-secret.ts'
import { createLog } from '../telemetry/log.ts'

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
    const password = () => secretOf(sasl.password, 'MQ_SASL_PASSWORD_FILE')
    return { ...rest, sasl: { ...sasl, password } }
  }
  const { client, ...logIn } = sasl
  const accessToken = createAccessToken(client, 'MQ_SASL_', () => performance.now())
  return { ...rest, sasl: { ...logIn, accessToken } }
}
