import { counted } from '../text/count.ts'
import { fenced, literal } from '../text/markdown.ts'
import { describeSms } from '../text/sms-length.ts'
import type { Preview, PreviewChange, PreviewedText } from './preview.ts'

/** The changed texts, before and after, for a pull request; empty if none changed. */
export function previewChangesToMarkdown(changes: readonly PreviewChange[]): string {
  if (changes.length === 0) return ''
  const sections = changes.map(({ eventType, before, after }) => {
    const name = literal(eventType)
    if (before === null) return `#### ${name}: new, was the generic text\n\n${textsOf(after as Preview)}`
    if (after === null)
      return `#### ${name}: removed, becomes the generic text\n\nBefore:\n\n${textsOf(before)}`
    return `#### ${name}\n\nBefore:\n\n${textsOf(before)}\n\nAfter:\n\n${textsOf(after)}`
  })
  return `### Texts: ${counted(changes.length, 'event type')} with another text\n\n${sections.join('\n\n')}\n`
}

/** A line above a text: the variant of the event type's text, and its length as an SMS. */
function captionOf({ withReason, sms }: PreviewedText): string {
  const length = `${describeSms(sms)} by SMS`
  return withReason === null ? length : `${withReason ? 'with a reason' : 'without a reason'}, ${length}`
}

function textsOf({ texts }: Preview): string {
  return texts
    .map((text) => `${literal(captionOf(text))}:\n\n${fenced(`Subject: ${text.subject}\n\n${text.body}`)}`)
    .join('\n\n')
}
