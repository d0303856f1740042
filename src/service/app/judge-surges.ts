import type { Notice } from '../model/service-status.ts'
import type { Surge } from '../store/read/find-surges.ts'
import { counted } from '../text/count.ts'

const REMEDY =
  'If that is unexpected and nothing is held yet, hold all messages, on the overview of the console or by the command `hold`: held messages are not lost'

/** Names the event type of which most was sent, and counts the others. */
export function judgeSurges([most, ...others]: readonly Surge[]): Notice | null {
  if (most === undefined) return null
  const { eventType, count, usual, from } = most
  const more = others.length === 0 ? '' : `, and likewise of ${counted(others.length, 'other type')}`
  return {
    subject: 'how much is sent',
    text: `far more is sent than usual: ${counted(count, 'message')} about ${eventType} since ${from}, at most ${usual} at this time of the last 7 days${more}`,
    remedy: REMEDY,
    entries: { eventType, status: 'SENT', from },
  }
}
