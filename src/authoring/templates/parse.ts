import mustache, { type TemplateSpans } from 'mustache'

/** A tag that names a variable, a section or a partial, with its line in the file. Closing tags and comments are left out. */
export interface Tag {
  readonly name: string
  readonly line: number
  readonly isPartial: boolean
  /** True for a tag that inserts a value or a part, false for a section. */
  readonly isInserted: boolean
  /** The section of the same variable around the tag: `#` is shown where the variable has a value, `^` where it is empty. */
  readonly within: '#' | '^' | null
}

export class LineFault extends Error {
  /** Counted from 1; null if the file's name is at fault. */
  readonly line: number | null

  constructor(line: number | null, message: string) {
    super(message)
    this.line = line
  }
}

/** The tags of a template that starts on a line of its file, by mustache's own parser. Throws LineFault. */
export function parseTags(template: string, firstLine = 1): readonly Tag[] {
  const findLine = (offset: number) => firstLine - 1 + lineAt(template, offset)
  const delimiters = template.search(/\{\{\s*=/)
  if (delimiters !== -1)
    throw new LineFault(
      findLine(delimiters),
      'the delimiters cannot be changed: remove this tag and write {{…}} throughout',
    )
  const tagsIn = (spans: TemplateSpans, sections: ReadonlyMap<string, '#' | '^'>): Tag[] =>
    spans.flatMap(([type, name, offset, , inner]) => {
      if (type === 'text' || type === '!') return []
      const isSection = type === '#' || type === '^'
      const within = sections.get(name) ?? null
      const tag = { name, line: findLine(offset), isPartial: type === '>', isInserted: !isSection, within }
      return isSection && Array.isArray(inner)
        ? [tag, ...tagsIn(inner, new Map([...sections, [name, type]]))]
        : [tag]
    })
  try {
    return tagsIn(mustache.parse(template), new Map())
  } catch (error) {
    const { offset, text } = explain(error as Error, template)
    throw new LineFault(findLine(offset), text)
  }
}

/** Git's conflict markers in a file that two branches changed. The mark in the middle may also be a line of a text. */
const CONFLICT = /^(<{7}|>{7}|\|{7})(?= |$)/m

/** The first line, counted from 1, with a mark of an unresolved merge; null if there is none. */
export function findConflict(text: string): { readonly line: number; readonly text: string } | null {
  const offset = text.search(CONFLICT)
  if (offset === -1) return null
  const remedy = 'keep one of the two versions, and remove the lines of <<<<<<<, ======= and >>>>>>>'
  return { line: lineAt(text, offset), text: `a merge left its marks here: ${remedy}` }
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
