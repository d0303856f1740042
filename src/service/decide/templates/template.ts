import { CorrectableError, listFaults } from '../../text/faults.ts'

/** Variables of templates. `reason` is null if the event has none. */
export interface Variables {
  readonly eventType: string
  readonly locator: string
  readonly reason: string | null
}

export const VARIABLES: readonly (keyof Variables)[] = ['eventType', 'locator', 'reason']

/** The text of a template's file, without faults, and its SHA-256 in hex. `name` is an event type, or `generic`. */
export interface TemplateSource {
  readonly name: string
  readonly revision: string
  readonly source: string
}

export interface Template extends TemplateSource {
  readonly subject: (variables: Variables) => string
  readonly body: (variables: Variables) => string
}

/** All templates by name, with the generic one. */
export type Templates = ReadonlyMap<string, Template>

/** Name of the template for every type that has none. */
export const GENERIC = 'generic'

/** The event types that have a template, sorted. */
export function listTypesWithTemplate(templates: Templates): string[] {
  return [...templates.keys()].filter((name) => name !== GENERIC).sort()
}

/** The event types whose text differs by the reason. */
export function listTypesWithReason(templates: Templates): string[] {
  return listTypesWithTemplate(templates).filter((eventType) => {
    const { subject, body } = templates.get(eventType) ?? {}
    const write = (reason: string | null) => {
      const variables = { eventType, locator: '', reason }
      return `${subject?.(variables)}\n${body?.(variables)}`
    }
    return write('reason') !== write(null)
  })
}

/** A fault of one file; `file` is blank if it concerns all. `line` counts from 1; null if the file itself is missing or surplus. */
export interface TemplateFault {
  readonly file: string
  readonly line: number | null
  readonly text: string
}

/** Templates cannot be used. Contains the first fault of each file. */
export class TemplateError extends CorrectableError {
  readonly faults: readonly TemplateFault[]

  constructor(faults: readonly TemplateFault[]) {
    super(`the templates have ${listFaults(faults.map(describeTemplateFault))}`)
    this.name = 'TemplateError'
    this.faults = faults
  }
}

/** Example: `claim.paid.mustache:3: …`. */
export function describeTemplateFault({ file, line, text }: TemplateFault): string {
  return [file, line, ` ${text}`].filter(Boolean).join(':').trim()
}
