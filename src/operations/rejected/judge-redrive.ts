import type { CommonQueryMethods } from 'slonik'
import { describeDifferences, findDifferences } from '../../service/decide/event/conflict.ts'
import { type EnvelopeMaps, mapOf } from '../../service/decide/event/envelope-map.ts'
import { parseEvent } from '../../service/decide/event/parse-event.ts'
import type { StoredRejectedMessage } from '../../service/decide/event/rejected-message.ts'
import { findRedriveRefusal, REJECTIONS } from '../../service/decide/event/rejection.ts'
import { findRows } from '../../service/store/read/find-rows.ts'

/** The outcome for a message that is processed again. */
export interface RedriveVerdict {
  readonly reason: string
  /** True if the message gets no row, for this reason. */
  readonly isUnchanged: boolean
}

/** Judges each message by the current envelope maps and rows. Only a redrive shows whether the database takes a row. */
export async function judgeRedrive(
  connection: CommonQueryMethods,
  messages: readonly StoredRejectedMessage[],
  maps: EnvelopeMaps,
): Promise<readonly RedriveVerdict[]> {
  const read = messages.map((rejected) => {
    const refusal = findRedriveRefusal(rejected.code, rejected.erasedAt !== null)
    return refusal ?? parseEvent(rejected.message, mapOf(maps, rejected.topic))
  })
  const eventIds = read.flatMap((result) =>
    typeof result !== 'string' && result.kind === 'event' ? result.event.eventId : [],
  )
  const rows = await findRows(connection, [...new Set(eventIds)])
  return read.map((result, i) => {
    const { topic, partition, message, code } = messages[i] as StoredRejectedMessage
    if (typeof result === 'string') return { reason: result, isUnchanged: true }
    if (result.kind === 'tombstone') return { reason: 'it has no value', isUnchanged: true }
    if (result.kind === 'rejection')
      return { reason: `still rejected: ${result.rejection.error}`, isUnchanged: true }
    const row = rows.get(result.event.eventId)
    if (row !== undefined) {
      const differences = findDifferences(row, { topic, partition, offset: message.offset }, result.event)
      const reason =
        differences.length === 0
          ? 'logged already, no second row'
          : `still rejected: ${REJECTIONS.conflict}, which ${describeDifferences(differences)}`
      return { reason, isUnchanged: true }
    }
    const isRefused = code === 'refused-by-database'
    return {
      reason: isRefused ? 'if the database takes its row now' : 'rules/envelope.json reads it now',
      isUnchanged: false,
    }
  })
}
