import mustache, { type TemplateSpans } from 'mustache'

/** A piece of a template, with its line in the file. Comments are left out. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable' | 'partial'; readonly name: string; readonly line: number }
  | {
      readonly kind: 'section'
      readonly name: string
      /** `{{^name}}`: rendered if there is no such value. */
      readonly inverted: boolean
      readonly line: number
      readonly pieces: readonly Piece[]
    }

export class LineFault extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** Parses a template that starts on a line of its file, with mustache's own parser. Throws LineFault. */
export function parseTemplate(template: string, firstLine = 1): readonly Piece[] {
  const lineOf = (offset: number) => firstLine - 1 + lineAt(template, offset)
  const delimiters = template.search(/\{\{\s*=/)
  if (delimiters !== -1)
    throw new LineFault(
      lineOf(delimiters),
      'the delimiters cannot be changed: remove this tag and write {{…}} throughout',
    )
  try {
    return piecesOf(mustache.parse(template), lineOf)
  } catch (error) {
    const { offset, text } = explain(error as Error, template)
    throw new LineFault(lineOf(offset), text)
  }
}

/** Line, counted from 1, of an offset in UTF-16 code units. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split(/\r\n|\n|\r/).length
}

function explain(error: Error, template: string): { offset: number; text: string } {
  const [, fault, name, at] =
    /^(Unclosed tag|Unopened section|Unclosed section)(?: "(.*)")? at (\d+)$/s.exec(error.message) ?? []
  const offset = Number(at)
  switch (fault) {
    case 'Unclosed tag':
      return {
        offset: unclosedTagOffset(template),
        text: 'a tag is never closed: end it with as many } as it has {',
      }
    case 'Unopened section':
      return { offset, text: `no section "${name}" is open here: remove the closing tag` }
    case 'Unclosed section':
      return offset < template.length
        ? { offset, text: `section "${name}" is still open here: close it first, with {{/${name}}}` }
        : { offset, text: `section "${name}" is never closed: put {{/${name}}} where it ends` }
    default:
      throw error
  }
}

/** Mustache's own error names only the end of the template. */
function unclosedTagOffset(template: string): number {
  const offset = template.indexOf('{{', template.lastIndexOf('}}') + 2)
  // Three opening braces closed by two.
  return offset === -1 ? template.lastIndexOf('{{{') : offset
}

function piecesOf(spans: TemplateSpans, lineOf: (offset: number) => number): Piece[] {
  return spans.flatMap((span): Piece[] => {
    const [type, value, offset] = span
    switch (type) {
      case 'text':
        return [{ kind: 'text', text: value }]
      case 'name':
      case '&':
        return [{ kind: 'variable', name: value, line: lineOf(offset) }]
      case '#':
      case '^': {
        const pieces = piecesOf(span[4] as TemplateSpans, lineOf)
        return [{ kind: 'section', name: value, inverted: type === '^', line: lineOf(offset), pieces }]
      }
      case '>':
        return [{ kind: 'partial', name: value, line: lineOf(offset) }]
      case '!':
        return []
      case '=':
        throw new Error('tags that change the delimiters are refused before parsing')
      default:
        return type satisfies never
    }
  })
}
