import { didYouMean, isSlip, nearest } from '../text/nearest.ts'
import { TemplateError, type TemplateFault } from './errors.ts'
import { EXPRESSIONS, generateModule, isVariable, type SoundTemplate } from './generate.ts'
import { finish } from './one-line-subject.ts'
import { type Note, type Piece, parseTemplate } from './parse.ts'
import { renderByMustache } from './render-by-mustache.ts'
import { splitSource } from './split.ts'

/** A file of `templates/`: its name without the folder, and its text as it is, BOM and line breaks included. */
export interface TemplateFile {
  readonly name: string
  readonly text: string
}

export interface CompileOptions {
  /** SHA-256 of a text's UTF-8 bytes, in hexadecimal. */
  readonly sha256: (text: string) => string
}

const EXTENSION = '.mustache'
export const GENERIC = 'generic'
/** Fixed by the specification. */
const GENERIC_BODY = 'A {{eventType}} event has occurred'
const VARIABLES = Object.keys(EXPRESSIONS)

/**
 * Compiles the templates, one for each event type that has a file and the generic one, into the text of a TypeScript module. What it
 * renders is what mustache renders without escaping. The files may come in any order.
 * Throws TemplateError with every fault of every file.
 */
export function compileTemplates(
  files: readonly TemplateFile[],
  options: CompileOptions,
): { readonly module: string } {
  const faults: TemplateFault[] = []
  const compiled = files
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((file) => {
      const fault = nameFault(file.name)
      if (fault === null) return compileFile(eventTypeOf(file), file, options, faults)
      faults.push({ file: file.name, line: null, text: fault })
      return undefined
    })
  if (!files.some((file) => eventTypeOf(file) === GENERIC)) {
    const text = 'the template for every other event type is missing: add this file'
    faults.push({ file: GENERIC + EXTENSION, line: null, text })
  }
  if (faults.length > 0) throw new TemplateError(faults.sort(byFileAndLine))
  const sound = compiled as SoundTemplate[]
  const generic = sound.find(({ name }) => name === GENERIC) as SoundTemplate
  return {
    module: generateModule(
      sound.filter((template) => template !== generic),
      generic,
    ),
  }
}

/** The template of one file, not to be used if a fault was found. */
function compileFile(
  name: string,
  { name: file, text: source }: TemplateFile,
  options: CompileOptions,
  faults: TemplateFault[],
): SoundTemplate | undefined {
  const faultCountBefore = faults.length
  const note = (line: number, text: string) => faults.push({ file, line, text })

  const garbled = source.search(/[\0\uFFFD]/)
  if (garbled !== -1) {
    note(lineAt(source, garbled), 'this is not UTF-8 text: save the file as UTF-8')
    return undefined
  }
  const parts = splitSource(source)
  if (parts.bodyLine === 1) note(1, 'the subject is missing: begin the file with "Subject: …"')
  if (parts.bodyLine === 2) note(2, 'the subject is one line: leave the line after it blank')
  if (parts.body.trim() === '') note(parts.bodyLine, 'the body is empty: write it below the subject')

  const subject = compilePart(parts.subject, 1, note)
  const body = compilePart(parts.body, parts.bodyLine, note)
  // What follows renders the parts, which takes sound ones.
  if (faults.length > faultCountBefore) return undefined
  if (canBeBlank(parts.subject)) note(1, 'the subject is or can be empty: give it fixed words')
  if (name === GENERIC) {
    if (finish(parts).body !== GENERIC_BODY)
      note(parts.bodyLine, `the body must be exactly "${GENERIC_BODY}"`)
  } else if (!insertsLocator(parts.body)) {
    note(parts.bodyLine, 'the body must insert {{locator}}, whether there is a reason or not')
  }
  return { name, revision: options.sha256(source), source, subject, body }
}

function compilePart(
  template: string,
  firstLine: number,
  noteLine: (line: number, text: string) => void,
): readonly Piece[] {
  const note: Note = (offset, text) => noteLine(firstLine - 1 + lineAt(template, offset), text)
  const pieces = parseTemplate(template, note)
  checkPieces(pieces, note)
  return pieces
}

function checkPieces(pieces: readonly Piece[], note: Note): void {
  for (const piece of pieces) {
    if (piece.kind === 'text') continue
    if (piece.kind === 'partial') {
      note(piece.offset, `partial ${quote(piece.name)} cannot be used: write its text here`)
      continue
    }
    if (!isVariable(piece.name)) note(piece.offset, unknownVariable(piece.name))
    if (piece.kind === 'section') checkPieces(piece.pieces, note)
  }
}

function unknownVariable(name: string): string {
  return `${quote(name)} is not a variable: the variables are ${VARIABLES.join(', ')}${didYouMean(nearest(name, VARIABLES))}`
}

/** The event type that a file is named after. */
export function eventTypeOf({ name }: TemplateFile): string {
  return name.slice(0, -EXTENSION.length)
}

/** The event types that there are files for, whether or not these have faults. */
export function eventTypesOf(files: readonly TemplateFile[]): string[] {
  return files
    .filter(({ name }) => nameFault(name) === null)
    .map(eventTypeOf)
    .filter((eventType) => eventType !== GENERIC)
}

/** Whatever event type a file is named after is known by it: only what can be none is refused. */
function nameFault(file: string): string | null {
  const name = file.slice(0, -EXTENSION.length)
  if (!file.endsWith(EXTENSION) || name === '')
    return `is not a template: name it <event type>${EXTENSION}, or remove it`
  return name !== GENERIC && isSlip(name, GENERIC)
    ? `${quote(name)} is no event type${didYouMean(GENERIC)}`
    : null
}

const REASONS = [null, 'r'] as const

function canBeBlank(subject: string): boolean {
  return REASONS.some((reason) =>
    ['', 'l'].some((locator) => renderByMustache(subject, { eventType: 'e', locator, reason }).trim() === ''),
  )
}

/** Whether another locator makes another text, with a reason and without. */
function insertsLocator(body: string): boolean {
  return REASONS.every((reason) => {
    const [text, other] = ['l', 'm'].map((locator) =>
      renderByMustache(body, { eventType: 'e', locator, reason }),
    )
    return text !== other
  })
}

/** The line, counted from 1, of an offset. */
function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split(/\r\n|\n|\r/).length
}

function quote(name: string): string {
  return JSON.stringify(name)
}

function byFileAndLine(a: TemplateFault, b: TemplateFault): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return (a.line ?? 0) - (b.line ?? 0)
}
