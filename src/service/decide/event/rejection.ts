/** Reasons why a message is rejected. The code is also the metric label. */
export const REJECTIONS = {
  empty: 'the value is empty',
  'too-large': 'the value has',
  'not-utf8': 'the value is not valid UTF-8',
  'not-json': 'the value is not valid JSON',
  'not-object': 'the value is JSON, but not an object',
  'event-id': 'eventId',
  'event-type': 'eventType',
  conflict: 'the eventId has the row of another message',
  'refused-by-database': 'the database refuses the row',
  unreadable: 'the record batch cannot be read',
} as const
export type RejectionCode = keyof typeof REJECTIONS

/** Codes of messages that cannot be redriven because too little is stored, each with the reason. */
const UNREDRIVABLE: Readonly<Partial<Record<string, string>>> = {
  unreadable: 'it is an unreadable record batch: have its events published again',
  'too-large': 'only the first bytes of its value are kept: have it published again, in smaller messages',
} satisfies Partial<Record<RejectionCode, string>>

/** The reason why a redrive leaves a rejected message unchanged; null if it processes the message again. */
export function findRedriveRefusal(code: string, isErased: boolean): string | null {
  return isErased ? 'it was erased' : (UNREDRIVABLE[code] ?? null)
}

export interface Rejection {
  readonly code: RejectionCode
  /** A sentence for people. Quotes nothing from the message except the type of a value. */
  readonly error: string
}
