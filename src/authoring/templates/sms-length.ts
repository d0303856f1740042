import { SegmentedMessage } from 'sms-segments-calculator'
import { counted } from '../../service/text/count.ts'

export interface SmsLength {
  readonly encoding: string
  readonly segments: number
}

/** Length in segments of GSM 03.38's 7-bit alphabet (160 characters, 153 if several), or of UCS-2 (70, 67). */
export function measureSms(text: string): SmsLength {
  const { encodingName, segmentsCount } = new SegmentedMessage(text)
  return { encoding: encodingName, segments: segmentsCount }
}

/** The distinct characters that GSM 03.38 lacks. One of them more than halves the capacity of a segment. */
export function beyondGsm(text: string): string[] {
  return [...new Set(new SegmentedMessage(text).getNonGsmCharacters())]
}

/** Example: "2 segments (GSM-7)". */
export function describeSms({ encoding, segments }: SmsLength): string {
  return `${counted(segments, 'segment')} (${encoding})`
}
