import mustache from 'mustache'
import type { Template, Templates, Variables } from './template.ts'

export interface Rendered extends Text {
  readonly revision: Template['revision']
}

/** Renders the template of the event's type, or else the generic one (specification, dispatch rule 4). */
export function render(templates: Templates, variables: Variables): Rendered {
  const template = templates.byEventType.get(variables.eventType) ?? templates.generic
  const text = finish({ subject: template.subject(variables), body: template.body(variables) })
  return { subject: text.subject, body: text.body, revision: template.revision }
}

/** The two mustache templates that one file holds. */
export interface SourceParts {
  readonly subject: string
  readonly body: string
  /** The line, counted from 1, on which the body starts. 3, unless there is no subject (1) or no blank line after it (2). */
  readonly bodyLine: 1 | 2 | 3
}

/**
 * Splits a file's text: `Subject: …`, a blank line, the body. A BOM is passed over and every kind of line break
 * becomes `\n`. Never throws: `bodyLine` says what is missing. Archived sources are split by this rule too, so
 * a change to it changes what they render to.
 */
export function splitSource(source: string): SourceParts {
  const lines = source.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  const [first = '', second = ''] = lines
  if (!first.startsWith(PREFIX)) return { subject: '', body: lines.join('\n'), bodyLine: 1 }
  const bodyLine = second.trim() === '' ? 3 : 2
  return { subject: first.slice(PREFIX.length).trim(), body: lines.slice(bodyLine - 1).join('\n'), bodyLine }
}

const PREFIX = 'Subject:'

export interface Text {
  readonly subject: string
  readonly body: string
}

/**
 * The last step of rendering, whichever program filled in the templates.
 *
 * Subject: each run of control characters or line separators becomes one space. Locator, reason and event type
 * come from outside, and a line break among them would let their sender add headers to an email.
 * Body: loses the line breaks at its end.
 */
export function finish({ subject, body }: Text): Text {
  return { subject: subject.replace(NOT_ON_ONE_LINE, ' '), body: withoutTrailingLineBreaks(body) }
}

const NOT_ON_ONE_LINE = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** A loop, because `/[\r\n]+$/` takes quadratic time on a reason that is mostly line breaks. */
function withoutTrailingLineBreaks(text: string): string {
  let end = text.length
  while (end > 0 && (text[end - 1] === '\n' || text[end - 1] === '\r')) end--
  return text.slice(0, end)
}

/** Renders by the library itself, as plain text: what our compiled templates render must be the same. */
export function renderByMustache(template: string, variables: Variables): string {
  return mustache.render(template, variables, {}, { escape: String })
}
