import { render } from '../../service/decide/templates/render.ts'
import {
  GENERIC,
  listTypesWithTemplate,
  type Templates,
  type Variables,
} from '../../service/decide/templates/template.ts'
import { measureSms, type SmsLength } from './sms-length.ts'

/** One variant of an event type's text. */
export interface PreviewedText {
  /** Null if the reason does not affect the text. */
  readonly withReason: boolean | null
  readonly subject: string
  readonly body: string
  readonly sms: SmsLength
}

export interface Preview {
  /** The template's name: an event type, or `generic`. */
  readonly name: string
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

const titleOf = (name: string) => (name === GENERIC ? 'any other event type' : name)
/** By the first word of an event type. */
const SAMPLE_LOCATORS = new Map([
  ['claim', 'CLM-2026-00056'],
  ['policy', 'POL-2026-00421'],
  ['invoice', 'INV-2026-01187'],
  ['payment', 'PAY-2026-00934'],
  ['charge', 'CHG-2026-00212'],
  ['adjustment', 'ADJ-2026-00075'],
])

/** Values of the variables in a preview of the template with this name. */
type Sample = (name: string) => Variables

const usualSample: Sample = (name) => {
  const eventType = name === GENERIC ? 'beneficiary.changed' : name
  const locator = SAMPLE_LOCATORS.get(eventType.split('.', 1)[0] ?? '') ?? 'REF-2026-00031'
  return { eventType, locator, reason: 'The damage happened before the policy began.' }
}

/** Shows a change of a text that contains a usual value word for word. */
const otherSample: Sample = (name) => ({
  eventType: name === GENERIC ? 'address.changed' : name,
  locator: 'REF-2027-00046',
  reason: 'The premium was not paid in time.',
})

/** All texts with sample values, by event type; the generic one last. */
export function previewTexts(templates: Templates): Preview[] {
  return [...listTypesWithTemplate(templates), GENERIC].map((name) => buildPreview(templates, name))
}

function buildPreview(templates: Templates, name: string, sample = usualSample): Preview {
  const variables = sample(name)
  const text = (withReason: boolean): PreviewedText => {
    const { subject, body } = render(templates, {
      ...variables,
      reason: withReason ? variables.reason : null,
    })
    return { withReason, subject, body, sms: measureSms(body) }
  }
  const [full, short] = [text(true), text(false)]
  const alike = full.subject === short.subject && full.body === short.body
  return {
    name,
    eventType: titleOf(name),
    texts: alike ? [{ ...full, withReason: null }] : [full, short],
  }
}

/** Texts whose rendering differs; comments and line ends do not count. */
export function diffPreviews(before: Templates, after: Templates): PreviewChange[] {
  return [...listTypesWithTemplate(new Map([...before, ...after])), GENERIC].flatMap((name) => {
    if (before.get(name)?.source === after.get(name)?.source) return []
    const changes = [usualSample, otherSample].map((sample) => {
      const of = (templates: Templates) =>
        templates.has(name) ? buildPreview(templates, name, sample) : null
      return { eventType: titleOf(name), before: of(before), after: of(after) }
    })
    return changes.find(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after)) ?? []
  })
}
