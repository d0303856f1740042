import { didYouMean, isSlip, nearest } from '../text/nearest.ts'
import { EXPRESSIONS, generateModule, isVariable, type SoundTemplate } from './generate.ts'
import { LineFault, lineAt, type Piece, parseTemplate } from './parse.ts'
import { finish, renderByMustache, splitSource } from './render.ts'
import { TemplateError, type TemplateFault } from './template.ts'

/** A file in `templates/`: its name without the folder, and its unchanged text, BOM and line breaks included. */
export interface TemplateFile {
  readonly name: string
  readonly text: string
}

export interface CompileOptions {
  /** SHA-256 of a text's UTF-8 bytes, in hexadecimal. */
  readonly sha256: (text: string) => string
  /** Accepted event types, against which file names are checked; absent: any name is valid. */
  readonly accepted?: readonly string[]
}

const EXTENSION = '.mustache'
export const GENERIC = 'generic'
/** Fixed by the specification. */
const GENERIC_BODY = 'A {{eventType}} event has occurred'
const VARIABLES = Object.keys(EXPRESSIONS)

/**
 * Compiles the generic template and one for each event type with a file, into the text of a TypeScript module. Renders the same
 * as mustache without escaping. The files may come in any order. Throws TemplateError with the first fault of every file.
 */
export function compileTemplates(
  files: readonly TemplateFile[],
  options: CompileOptions,
): { readonly module: string } {
  const faults: TemplateFault[] = []
  const compiled: SoundTemplate[] = []
  for (const file of files.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const fault = nameFault(file.name, options.accepted)
    if (fault !== null) {
      faults.push({ file: file.name, line: null, text: fault })
      continue
    }
    try {
      compiled.push(compileFile(eventTypeOf(file), file.text, options))
    } catch (error) {
      if (!(error instanceof LineFault)) throw error
      faults.push({ file: file.name, line: error.line, text: error.message })
    }
  }
  if (!files.some((file) => eventTypeOf(file) === GENERIC)) {
    const text = 'the template for every other event type is missing: add this file'
    faults.push({ file: GENERIC + EXTENSION, line: null, text })
  }
  if (faults.length > 0)
    throw new TemplateError(faults.sort((one, other) => (one.file < other.file ? -1 : 1)))
  const generic = compiled.find(({ name }) => name === GENERIC) as SoundTemplate
  return {
    module: generateModule(
      compiled.filter((template) => template !== generic),
      generic,
    ),
  }
}

/** Throws LineFault. */
function compileFile(name: string, source: string, options: CompileOptions): SoundTemplate {
  const refuseIf = (isFault: boolean, line: number, text: string) => {
    if (isFault) throw new LineFault(line, text)
  }
  const garbled = source.search(/[\0\uFFFD]/)
  refuseIf(garbled !== -1, lineAt(source, garbled), 'this is not UTF-8 text: save the file as UTF-8')
  const parts = splitSource(source)
  const { bodyLine } = parts
  refuseIf(bodyLine === 1, 1, 'the subject is missing: begin the file with "Subject: …"')
  const subject = parseTemplate(parts.subject)
  checkPieces(subject)
  refuseIf(bodyLine === 2, 2, 'the subject is one line: leave the line after it blank')
  refuseIf(canBeBlank(parts.subject), 1, 'the subject is or can be empty: give it fixed words')
  refuseIf(parts.body.trim() === '', bodyLine, 'the body is empty: write it below the subject')
  const body = parseTemplate(parts.body, bodyLine)
  checkPieces(body)
  if (name === GENERIC)
    refuseIf(finish(parts).body !== GENERIC_BODY, bodyLine, `the body must be exactly "${GENERIC_BODY}"`)
  else {
    const text = 'the body must insert {{locator}}, whether there is a reason or not'
    refuseIf(!insertsLocator(parts.body), bodyLine, text)
  }
  return { name, revision: options.sha256(source), source, subject, body }
}

function checkPieces(pieces: readonly Piece[]): void {
  for (const piece of pieces) {
    if (piece.kind === 'text') continue
    if (piece.kind === 'partial')
      throw new LineFault(piece.line, `partial ${quote(piece.name)} cannot be used: write its text here`)
    if (!isVariable(piece.name)) throw new LineFault(piece.line, unknownVariable(piece.name))
    if (piece.kind === 'section') checkPieces(piece.pieces)
  }
}

function unknownVariable(name: string): string {
  return `${quote(name)} is not a variable: the variables are ${VARIABLES.join(', ')}${didYouMean(nearest(name, VARIABLES))}`
}

export function eventTypeOf({ name }: TemplateFile): string {
  return name.slice(0, -EXTENSION.length)
}

/** Event types that have a file, even one with faults. */
export function eventTypesOf(files: readonly TemplateFile[]): string[] {
  return files
    .filter(({ name }) => nameFault(name) === null)
    .map(eventTypeOf)
    .filter((eventType) => eventType !== GENERIC)
}

/** An event type that is not accepted is a typo if it is near to an accepted one, or not written like one. */
function nameFault(file: string, accepted?: readonly string[]): string | null {
  const name = file.slice(0, -EXTENSION.length)
  if (!file.endsWith(EXTENSION) || name === '')
    return `is not a template: name it <event type>${EXTENSION}, or remove it`
  if (name === GENERIC || accepted?.includes(name)) return null
  const tidy = accepted === undefined ? name : tidied(name)
  const near = nearest(tidy, [GENERIC, ...(accepted ?? [])])
  const meant = near !== null && isSlip(tidy, near) ? near : tidy
  return meant === name
    ? null
    : `${quote(name)} is not an accepted event type${didYouMean(meant)} If events have exactly this type, add the line ${quote(name)} to rules/outcomes.txt`
}

/** The name without capitals, blanks, and the additions of a file copy. */
function tidied(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\s-]*(\(\d+\)|copy)$/, '')
    .replace(/\s+/g, '.')
    .replace(/[^\p{L}\p{N}._:-]/gu, '')
}

const REASONS = [null, 'r'] as const

function canBeBlank(subject: string): boolean {
  return REASONS.some((reason) =>
    ['', 'l'].some((locator) => renderByMustache(subject, { eventType: 'e', locator, reason }).trim() === ''),
  )
}

/** True if the locator changes the text, with a reason and without. */
function insertsLocator(body: string): boolean {
  return REASONS.every((reason) => {
    const [text, other] = ['l', 'm'].map((locator) =>
      renderByMustache(body, { eventType: 'e', locator, reason }),
    )
    return text !== other
  })
}

function quote(name: string): string {
  return JSON.stringify(name)
}
