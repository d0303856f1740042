import kafkajs from 'kafkajs'
import { UNREACHABLE_CODES } from '../text/error-codes.ts'
import { errorType } from './kafka-client.ts'

/** The remedy for an error of the brokers, to be appended to a sentence; empty if none is known. */
export function describeRemedy(error: unknown, groupId: string, known: readonly string[]): string {
  if (errorType(error) === 'INCONSISTENT_GROUP_PROTOCOL') return `: ${describeOtherProgram(groupId)}`
  if (errorType(error) === 'GROUP_AUTHORIZATION_FAILED')
    return `: grant this user READ and DESCRIBE on the consumer group ${groupId}`
  const advertised = findAdvertisedFault(error, known)
  if (advertised !== null) return `: ${advertised}`
  const address = unreachableBroker(error)
  return address === null ? '' : `: ${address} cannot be reached: start it, or correct MQ_BROKERS`
}

/** The members of the group speak another protocol, so that they belong to another program. */
export function describeOtherProgram(groupId: string): string {
  return `another program uses the consumer group ${groupId}: choose another MQ_GROUP_ID`
}

/** Null unless a broker can be reached, and sends its clients to an address that cannot. */
export function findAdvertisedFault(error: unknown, known: readonly string[]): string | null {
  const address = unreachableBroker(error)
  if (address === null || known.includes(address)) return null
  return `the broker at ${known.join(' or ')} advertises ${address}, which cannot be reached from here: advertised.listeners`
}

/** The address, `host:port`, of the broker to which no connection could be made; null for any other error. */
export function unreachableBroker(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof kafkajs.KafkaJSConnectionError)) continue
    const { code, broker } = cause as { readonly code?: string; readonly broker?: string }
    // kafkajs gives a timeout no code.
    if (broker !== undefined && (code === undefined || UNREACHABLE_CODES.includes(code))) return broker
  }
  return null
}
