import type { z } from 'zod'
import type { Variable } from './variables.ts'
import type { Environment } from './warnings.ts'

export type Fault = Pick<z.core.$ZodIssue, 'path' | 'message'>

/** Variables that are useless without each other. */
export function incompleteSettings(set: Environment): Fault[] {
  const needed: [Variable, Variable][] = [
    ['MQ_SSL_CERT_FILE', 'MQ_SSL_KEY_FILE'],
    ['MQ_SSL_KEY_FILE', 'MQ_SSL_CERT_FILE'],
    // Else nobody could read or write the preferences of another party.
    ['IDP_PARTY_CLAIM', 'IDP_ADMIN_SCOPE'],
  ]
  for (const name of loginNeeds(set)) needed.push(['MQ_SASL_MECHANISM', name])
  return needed
    .filter(([given, other]) => set[given] !== undefined && set[other] === undefined)
    .map(([given, other]) => ({ path: [other], message: `is required with ${given}` }))
}

function loginNeeds({ MQ_SASL_MECHANISM, MQ_SASL_CLIENT_SECRET_FILE }: Environment): readonly Variable[] {
  if (MQ_SASL_MECHANISM?.toUpperCase() !== 'OAUTHBEARER') return ['MQ_SASL_USERNAME', 'MQ_SASL_PASSWORD']
  const client = ['MQ_SASL_TOKEN_URL', 'MQ_SASL_CLIENT_ID'] as const
  return MQ_SASL_CLIENT_SECRET_FILE === undefined ? [...client, 'MQ_SASL_CLIENT_SECRET'] : client
}
