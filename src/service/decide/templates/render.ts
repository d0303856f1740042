import mustache, { type TemplateSpans } from 'mustache'
import { GENERIC, type Template, type TemplateSource, type Templates, type Variables } from './template.ts'

export interface RenderResult extends Text {
  readonly revision: Template['revision']
}

/** @internal The template of an event's type, or else the generic one (specification, dispatch rule 4). */
export function findTemplate(templates: Templates, { eventType }: Variables): Template {
  const template = templates.get(eventType) ?? templates.get(GENERIC)
  if (template === undefined) throw new Error('there is no generic template')
  return template
}

export function render(templates: Templates, variables: Variables): RenderResult {
  const template = findTemplate(templates, variables)
  const text = finish({ subject: template.subject(variables), body: template.body(variables) })
  return { subject: text.subject, body: text.body, revision: template.revision }
}

/** The two mustache templates in one file. */
export interface SourceParts {
  readonly subject: string
  readonly body: string
  /** Line, counted from 1, on which the body starts: 3, unless the subject (1) or the blank line after it (2) is missing. */
  readonly bodyLine: 1 | 2 | 3
}

/**
 * Splits a file's text: `Subject: …`, a blank line, the body; `bodyLine` reveals a missing part. Skips a BOM, and converts every
 * line break to `\n`. Archived sources are split by the same rule, so a change to it changes their rendered text.
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
 * The last step of rendering. In a subject each run of control characters or line separators becomes one space: locators,
 * reasons and event types come from outside, and a line break in one could add headers to an email. Trailing line breaks of a
 * body are removed.
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

/** The templates of these sources, of which one is the generic one. */
export function compileTemplates(sources: readonly TemplateSource[]): Templates {
  return new Map(sources.map((source) => [source.name, compileTemplate(source)]))
}

function compileTemplate(given: TemplateSource): Template {
  const { subject, body } = splitSource(given.source)
  return { ...given, subject: compileText(subject), body: compileText(body) }
}

type Renderer = (variables: Variables) => string

/** Compiles a mustache template, parsed by mustache itself, to a function that renders plain text. */
export function compileText(template: string): Renderer {
  return compiled(mustache.parse(template))
}

function compiled(spans: TemplateSpans): Renderer {
  const parts = spans.map(rendererOfSpan)
  return (variables) => {
    let text = ''
    for (const part of parts) text += part(variables)
    return text
  }
}

/** Templates have no partials (see `checkTemplates`), and variables are texts: a section is rendered once or not at all. */
function rendererOfSpan([type, name, , , inner]: TemplateSpans[number]): Renderer {
  const readVariable = (variables: Variables) => variables[name as keyof Variables] ?? ''
  const section = compiled(Array.isArray(inner) ? inner : [])
  switch (type) {
    case 'text': {
      // Mustache appends one character at a time. V8 would traverse that chain for every message.
      const text = name.split('').join('')
      return () => text
    }
    case '#':
      return (variables) => (readVariable(variables) === '' ? '' : section(variables))
    case '^':
      return (variables) => (readVariable(variables) === '' ? section(variables) : '')
    case '!':
      return () => ''
    default:
      return readVariable
  }
}
