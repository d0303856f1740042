import { measureSms, type SmsLength } from '../text/sms-length.ts'
import { render } from './render.ts'
import type { Templates, Variables } from './template.ts'

/** One variant of an event type's text. */
export interface PreviewedText {
  /** Null if a reason makes no difference. */
  readonly withReason: boolean | null
  readonly subject: string
  readonly body: string
  readonly sms: SmsLength
}

export interface Preview {
  /** `any other event type` for the generic template. */
  readonly eventType: string
  readonly texts: readonly PreviewedText[]
}

export interface PreviewChange {
  readonly eventType: string
  /** Null if there was no template: the event type got the generic text. */
  readonly before: Preview | null
  /** Null if the template was deleted. */
  readonly after: Preview | null
}

export const OTHER = 'any other event type'
const SAMPLE_OTHER = 'beneficiary.changed'
const SAMPLE_REASON = 'The damage happened before the policy began.'
/** By the first word of an event type. */
const SAMPLE_LOCATORS = new Map([
  ['claim', 'CLM-2026-00056'],
  ['policy', 'POL-2026-00421'],
  ['invoice', 'INV-2026-01187'],
  ['payment', 'PAY-2026-00934'],
  ['charge', 'CHG-2026-00212'],
  ['adjustment', 'ADJ-2026-00075'],
])

export function sampleVariables(eventType: string): Variables & { readonly reason: string } {
  const domain = eventType.slice(0, Math.max(0, eventType.indexOf('.')))
  return { eventType, locator: SAMPLE_LOCATORS.get(domain) ?? 'REF-2026-00031', reason: SAMPLE_REASON }
}

/** All texts with sample values, by event type; the generic one last. */
export function previewTexts(templates: Templates): Preview[] {
  const eventTypes = [...templates.byEventType.keys()].sort()
  return [
    ...eventTypes.map((eventType) => previewOf(templates, eventType, eventType)),
    previewOf(templates, SAMPLE_OTHER, OTHER),
  ]
}

function previewOf(templates: Templates, sample: string, eventType: string): Preview {
  const variables = sampleVariables(sample)
  const text = (withReason: boolean): PreviewedText => {
    const { subject, body } = render(templates, {
      ...variables,
      reason: withReason ? variables.reason : null,
    })
    return { withReason, subject, body, sms: measureSms(body) }
  }
  const [one, other] = [text(true), text(false)]
  const alike = one.subject === other.subject && one.body === other.body
  return { eventType, texts: alike ? [{ ...one, withReason: null }] : [one, other] }
}

/** Texts that differ as rendered: a template comment or another line end does not count. */
export function diffPreviews(before: readonly Preview[], after: readonly Preview[]): PreviewChange[] {
  const of = (previews: readonly Preview[], name: string) =>
    previews.find(({ eventType }) => eventType === name) ?? null
  const names = new Set([...before, ...after].map(({ eventType }) => eventType))
  return [...names]
    .map((eventType) => ({ eventType, before: of(before, eventType), after: of(after, eventType) }))
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after))
    .sort((one, other) => (one.eventType < other.eventType ? -1 : 1))
}
