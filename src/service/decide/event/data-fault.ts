import { counted } from '../../text/count.ts'

/**
 * Faults that no single message shows, such as a wrong place in the envelope map or a wrong path of policy administration, with
 * their remedies. The code is the metric's label.
 */
export const DATA_FAULTS = {
  'no-party':
    'correct "partyLocator" in rules/envelope.json before more events are skipped, then `retry --read-again` the skipped entries',
  'no-text': 'correct "eventType" in rules/envelope.json, or write templates for these event types',
  'not-found':
    'check POLICY_ADMIN_URL, with its path, and each gateway on the way: a path that does not exist is answered with 404, too. Then `retry` the skipped entries. If the path is right, "partyLocator" in rules/envelope.json leads to something else: correct it, then `retry --read-again`',
} as const
/** What fewer messages have in common may well be chance. */
export const FAULTY_COUNT_MIN = 5
export type DataFaultCode = keyof typeof DATA_FAULTS

export interface DataFault {
  readonly code: DataFaultCode
  /** For people; names no party. */
  readonly detail: string
}

/** Counts of the events of one topic. */
export interface EventCounts {
  readonly eventCount: number
  /** With no party locator, or an invalid one. */
  readonly withoutParty: number
  /** Of event types that have no template of their own. */
  readonly withoutText: number
}

/** A fault is what is wrong with all of them: some events lack a party, or a text, on purpose. */
export function judgeEvents(
  topic: string,
  { eventCount, withoutParty, withoutText }: EventCounts,
): DataFault[] {
  if (eventCount === 0) return []
  const all = `of ${counted(eventCount, 'event')} of ${topic}`
  const faults: DataFault[] = []
  if (withoutParty === eventCount) faults.push({ code: 'no-party', detail: `none ${all} names a party` })
  if (withoutText === eventCount)
    faults.push({
      code: 'no-text',
      detail: `none ${all} has an event type with a text: members get the generic one`,
    })
  return faults
}

/** Counts of look-ups that were answered; others say nothing about the path. */
export interface LookUpCounts {
  readonly found: number
  readonly notFound: number
}

export function judgeLookUps({ found, notFound }: LookUpCounts): DataFault[] {
  if (found > 0 || notFound === 0) return []
  const detail = `policy administration answered 404 to all of ${counted(notFound, 'look-up')}`
  return [{ code: 'not-found', detail }]
}
