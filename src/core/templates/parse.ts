import mustache, { type TemplateSpans } from 'mustache'

/** A piece of a template; offsets count UTF-16 code units from its start. Comments are left out. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string; readonly offset: number }
  | { readonly kind: 'partial'; readonly name: string; readonly offset: number }
  | Section

interface Section {
  readonly kind: 'section'
  readonly name: string
  /** `{{^name}}`: for when there is no such value. */
  readonly inverted: boolean
  readonly offset: number
  /** Where the closing tag starts. */
  readonly endOffset: number
  readonly pieces: readonly Piece[]
}

type SectionSpan = [string, string, number, number, TemplateSpans, number]

export type Note = (offset: number, text: string) => void

/**
 * Parses a template by mustache's own parser. Notes every tag that would change the delimiters, and the first fault
 * of the structure, if any. The pieces are those before that fault, so that they can be looked at as well.
 */
export function parseTemplate(template: string, note: Note): readonly Piece[] {
  const plain = withoutDelimiterTags(template, note)
  return piecesOf(closeSections(plain.slice(0, soundLength(plain, note))))
}

/** Makes comments of them: all offsets stay, and the rest can be read as it was probably meant. */
function withoutDelimiterTags(template: string, note: Note): string {
  return template.replace(/(\{\{\s*)=/g, (_, opening: string, offset: number) => {
    note(offset, 'the delimiters cannot be changed: remove this tag and write {{…}} throughout')
    return `${opening}!`
  })
}

/** Where the first fault of the structure is; the template's length where there is none. */
function soundLength(template: string, note: Note): number {
  const fault = faultOf(template)
  switch (fault?.kind) {
    case undefined:
      return template.length
    case 'Unclosed tag': {
      const start = unclosedTagOffset(template)
      note(start, 'a tag is never closed: end it with as many } as it has {')
      return start
    }
    case 'Unopened section':
      note(fault.offset, `no section "${fault.name}" is open here: remove the closing tag`)
      return fault.offset
    case 'Unclosed section':
      noteUnclosed(template, fault, note)
      return fault.offset
    default:
      return fault satisfies never
  }
}

function noteUnclosed(
  template: string,
  { name, offset }: { name: string; offset: number },
  note: Note,
): void {
  if (offset < template.length) {
    note(offset, `section "${name}" is still open here: close it first, with {{/${name}}}`)
    return
  }
  const open = innermostOpen(piecesOf(closeSections(template)), offset)
  note(open?.offset ?? offset, `section "${name}" is never closed: put {{/${name}}} where it ends`)
}

type Fault =
  | { kind: 'Unclosed tag' }
  | { kind: 'Unopened section' | 'Unclosed section'; name: string; offset: number }

const SECTION_FAULT = /^(Unopened section|Unclosed section) "(.*)" at (\d+)$/s

/** What mustache has to say against a template: it throws at the first fault, with a message and nothing else. */
function faultOf(template: string): Fault | null {
  try {
    mustache.parse(template)
    return null
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (message.startsWith('Unclosed tag at ')) return { kind: 'Unclosed tag' }
    const [, kind, name, offset] = SECTION_FAULT.exec(message) ?? []
    if (kind === undefined || name === undefined) throw error
    return { kind: kind as 'Unopened section' | 'Unclosed section', name, offset: Number(offset) }
  }
}

/** The last `{{` before which all tags are closed: mustache itself names only the end of the template. */
function unclosedTagOffset(template: string): number {
  let offset = template.lastIndexOf('{{')
  while (offset > 0 && faultOf(template.slice(0, offset))?.kind === 'Unclosed tag') {
    offset = template.lastIndexOf('{{', offset - 1)
  }
  return offset
}

/** Parses a template whose only fault may be that sections are still open at its end. */
function closeSections(template: string): TemplateSpans {
  let closed = template
  for (let fault = faultOf(closed); fault?.kind === 'Unclosed section'; fault = faultOf(closed)) {
    // On a line of its own, lest a { at the end make it another kind of tag.
    closed += `\n{{/${fault.name}}}`
  }
  return mustache.parse(closed)
}

function innermostOpen(pieces: readonly Piece[], endOffset: number): Section | undefined {
  const open = pieces.findLast((piece) => piece.kind === 'section' && piece.endOffset >= endOffset)
  return open?.kind === 'section' ? (innermostOpen(open.pieces, endOffset) ?? open) : undefined
}

function piecesOf(spans: TemplateSpans): Piece[] {
  return spans.flatMap((span): Piece[] => {
    const [type, value, offset] = span
    switch (type) {
      case 'text':
        return [{ kind: 'text', text: value }]
      case 'name':
      case '&':
        return [{ kind: 'variable', name: value, offset }]
      case '#':
      case '^': {
        const [, , , , spansWithin, endOffset] = span as SectionSpan
        const pieces = piecesOf(spansWithin)
        return [{ kind: 'section', name: value, inverted: type === '^', offset, endOffset, pieces }]
      }
      case '>':
        return [{ kind: 'partial', name: value, offset }]
      case '!':
        return []
      case '=':
        throw new Error('tags that change the delimiters are taken out before parsing')
      default:
        return type satisfies never
    }
  })
}
