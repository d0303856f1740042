import type { z } from 'zod'
import type { Variable } from './variables.ts'
import type { Environment } from './warnings.ts'

export type Fault = Pick<z.core.$ZodIssue, 'path' | 'message'>

/** Variables that are useless without each other. */
export function incompleteSettings(set: Environment): Fault[] {
  const needed: [Variable, Variable][] = [
    ['MQ_SASL_MECHANISM', 'MQ_SASL_USERNAME'],
    ['MQ_SASL_MECHANISM', 'MQ_SASL_PASSWORD'],
    ['MQ_SSL_CERT_FILE', 'MQ_SSL_KEY_FILE'],
    ['MQ_SSL_KEY_FILE', 'MQ_SSL_CERT_FILE'],
    // Else nobody could read or write the preferences of another party.
    ['IDP_PARTY_CLAIM', 'IDP_ADMIN_SCOPE'],
  ]
  return needed
    .filter(([given, other]) => set[given] !== undefined && set[other] === undefined)
    .map(([given, other]) => ({ path: [other], message: `is required with ${given}` }))
}
