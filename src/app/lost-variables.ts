import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { DecidedCandidate } from '../core/attempt/retry-candidate.ts'
import { EnvelopeMapError, loadEnvelopeMap } from '../core/event/envelope-map.ts'
import type { Message } from '../core/event/message.ts'
import { type Event, parseEvent, variablesOf } from '../core/event/parse-event.ts'
import type { Variables } from '../core/templates/template.ts'
import { createBrokers } from '../kafka/brokers.ts'
import { readMessage } from '../kafka/inspect-partition.ts'
import { brokerConnection } from './broker-connection.ts'

/** With a producer's clock further ahead, a message looks like one of a recreated topic. */
const CLOCK_SKEW_MAX_MS = 300_000

export interface LostVariables {
  /** The variables of a row's event, read again from the broker by the envelope map of its time; else why they cannot be read. */
  of(candidate: DecidedCandidate): Promise<Variables | string>
  close(): Promise<void>
}

/** Connects to the brokers for the first row. If they cannot be reached then, they are not tried again. */
export function createLostVariables({ broker }: Pick<Config, 'broker'>, log: Logger): LostVariables {
  const brokers = createBrokers(brokerConnection(broker), broker.groupId, log)
  let reached: Promise<unknown> | null = null

  async function read(candidate: DecidedCandidate): Promise<Variables | string> {
    const { decision, createdAt } = candidate
    const { topic, partition, offset, envelopeMap } = decision
    if (envelopeMap === null) return 'the envelope map of its time is not in the archive'
    const map = loadEnvelopeMap(envelopeMap)
    reached ??= brokers.describe()
    await reached
    const message = await readMessage(brokers, { topic, partition }, BigInt(offset))
    if (typeof message === 'string') return message
    const parsed = parseEvent(message, map)
    if (parsed.kind !== 'event' || !isOf(parsed.event, candidate))
      return 'the broker has another message at its offset'
    if (isNewer(message, createdAt))
      return 'the broker has another message at its offset: one newer than the log entry'
    return variablesOf(parsed.event)
  }

  return {
    of: (candidate) =>
      read(candidate).catch((error) =>
        error instanceof EnvelopeMapError
          ? 'this version cannot read the envelope map of its time'
          : `its message cannot be read from the broker: ${error instanceof Error ? error.message : error}`,
      ),
    close: brokers.close,
  }
}

/** A recreated topic may have the same event id at the same offset, of another event. */
function isOf(event: Event, { eventId, eventType, partyLocator }: DecidedCandidate): boolean {
  return event.eventId === eventId && event.eventType === eventType && event.partyLocator === partyLocator
}

/** A timestamp that is not known tells nothing; one may come from a clock that is ahead. */
function isNewer({ timestampMs = -1n }: Message, createdAt: string): boolean {
  return timestampMs > Date.parse(createdAt) + CLOCK_SKEW_MAX_MS
}
