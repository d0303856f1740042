import { finish, type Text } from './one-line-subject.ts'
import type { Template, Templates, Variables } from './template.ts'

/** A message's text and the revision of the template that it was made from. */
export interface Rendered extends Text {
  readonly revision: Template['revision']
}

/**
 * Renders the template of the event's type, or the generic one where the type has none (specification, dispatch
 * rule 4). The subject is one line whatever the variables hold; see `finish`.
 */
export function render(templates: Templates, variables: Variables): Rendered {
  const template = templates.byEventType.get(variables.eventType) ?? templates.generic
  const text = finish({ subject: template.subject(variables), body: template.body(variables) })
  return { subject: text.subject, body: text.body, revision: template.revision }
}
