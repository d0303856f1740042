/** Why a message is no event. The code is also the metric label. */
export const REJECTIONS = {
  empty: 'the message has no value',
  'too-large': 'the value has',
  'not-utf8': 'the value is not valid UTF-8',
  'not-json': 'the value is not valid JSON',
  'not-object': 'the value is JSON, but not an object',
  'event-id': 'eventId',
  'event-type': 'eventType',
  'refused-by-database': 'the database refuses the row',
} as const
export type RejectionCode = keyof typeof REJECTIONS

export interface Rejection {
  readonly code: RejectionCode
  /** For people; may quote nothing of the message but the kind of what was found. */
  readonly error: string
}
