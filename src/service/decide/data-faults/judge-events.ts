import { counted } from '../../text/count.ts'
import { type DataFault, type DataFaultCode, FAULTY_COUNT_MIN } from './data-faults.ts'
import { FIELD_FINDINGS, type FieldFinding, type JudgedField } from './find-fields.ts'
import { exceeds, judgeShare, NEARLY_ALL } from './share-limits.ts'

/** Counts of the events of one topic. */
export interface EventCounts {
  readonly eventCount: number
  /** Events without a valid party locator. */
  readonly withoutParty: number
  /** Events without their own template, except those counted in `inOtherCase`. */
  readonly withoutText: number
  /** Events of types that a text or a rule names in another letter case. */
  readonly inOtherCase: number
  /** Events by the finding for a field; only a part of the events may be examined. */
  readonly countOf: (field: JudgedField, finding: FieldFinding) => number
}

/** Some events lack a party, a text or a reference on purpose. Only if all lack it is it a fault. */
export function judgeEvents(
  topic: string,
  { eventCount, withoutParty, withoutText, inOtherCase, countOf }: EventCounts,
): DataFault[] {
  if (eventCount === 0) return []
  const ofTopic = `of ${counted(eventCount, 'event')} of ${topic}`
  const isSure = eventCount >= FAULTY_COUNT_MIN
  const faults: DataFault[] = []
  if (withoutParty === eventCount)
    faults.push({ code: 'no-party', detail: `none ${ofTopic} names a party`, isSure })
  if (withoutText === eventCount)
    faults.push({
      code: 'no-text',
      detail: `none ${ofTopic} has an event type with a text: members get the generic one`,
      isSure,
    })
  if (inOtherCase > 0)
    faults.push({
      code: 'other-case',
      detail: `${inOtherCase} ${ofTopic} have an event type that a text or a rule names in another letter case: no rule for it fits`,
      isSure: inOtherCase >= FAULTY_COUNT_MIN,
    })
  const judgedCount = FIELD_FINDINGS.reduce((sum, finding) => sum + countOf('locator', finding), 0)
  const judged = `of ${counted(judgedCount, 'event')} of ${topic}`
  if (judgedCount > 0 && countOf('locator', 'missing') === judgedCount && withoutParty < eventCount)
    faults.push({ code: 'no-reference', detail: `none ${judged} names what it is about`, isSure })
  const otherCount = countOf('reason', 'other field')
  const withoutReason = countOf('reason', 'missing') + otherCount
  if (countOf('reason', 'named') === 0 && withoutReason > 0) {
    const names = otherCount === 0 ? '' : `: ${otherCount} have their id, type, party or reference there`
    faults.push({
      code: 'no-reason',
      detail: `none of ${counted(withoutReason, 'event')} of ${topic} whose text gives a reason has one${names}`,
      isSure: withoutReason >= NEARLY_ALL.countMin,
    })
  }
  const judgeRepeated = (code: DataFaultCode, field: JudgedField, words: string) => {
    const lastingCount = countOf(field, 'repeated')
    const count = lastingCount + countOf(field, 'burst')
    if (!exceeds(NEARLY_ALL, count, judgedCount)) return
    const isSure = lastingCount >= FAULTY_COUNT_MIN
    const within = isSure ? '' : ', which came at once: all may be about one customer'
    faults.push({ code, detail: `${count} ${judged} ${words}${within}`, isSure })
  }
  judgeRepeated('one-party', 'partyLocator', 'name the same party')
  judgeRepeated('one-reference', 'locator', 'name the same claim, policy or invoice')
  const ownIdCount = countOf('locator', 'event id')
  if (exceeds(NEARLY_ALL, ownIdCount, judgedCount))
    faults.push({
      code: 'event-id',
      detail: `${ownIdCount} ${judged} have their own event id as their reference`,
      isSure: true,
    })
  return faults
}

/** Judges a topic's answered look-ups; unanswered ones prove nothing about the path. */
export function judgeParties(topic: string, found: number, notFound: number): DataFault[] {
  const isSure = judgeShare(notFound, found)
  if (isSure === null) return []
  const detail = `policy administration does not know the party of ${notFound} of ${counted(found + notFound, 'event')} of ${topic}`
  return [{ code: 'not-found', detail, isSure }]
}
