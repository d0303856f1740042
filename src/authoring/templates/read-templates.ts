import {
  compileTemplates,
  compileText,
  finish,
  GENERIC,
  splitSource,
} from '../../service/decide/templates/render.ts'
import {
  TemplateError,
  type TemplateFault,
  type TemplateSource,
  type Templates,
  VARIABLES,
} from '../../service/decide/templates/template.ts'
import { didYouMean, isSlip, nearest } from '../../service/text/nearest.ts'
import { findConflict, LineFault, lineAt, parseTags, type Tag } from './parse.ts'

/** A file in `templates/`: its name without the folder, and its unchanged text, BOM and line breaks included. */
export interface TemplateFile {
  readonly name: string
  readonly text: string
}

export interface ReadOptions {
  /** SHA-256 of a text's UTF-8 bytes, in hexadecimal. */
  readonly sha256: (text: string) => string
  /** Accepted event types, against which file names are checked; absent: any name is valid. */
  readonly accepted?: readonly string[]
  /** Types of recent events, accepted too where nobody can edit the accepted ones by hand. */
  readonly seen?: readonly string[]
}

const EXTENSION = '.mustache'
/** Fixed by the specification. */
const GENERIC_BODY = 'A {{eventType}} event has occurred'

/** A variable in one pair of braces. */
const SINGLE_BRACES = new RegExp(`(?<!\\{)\\{\\s*(${VARIABLES.join('|')})\\s*\\}(?!\\})`)

/** The templates of these files, in any order. Throws TemplateError with the first fault of every file. */
export function readTemplates(files: readonly TemplateFile[], options: ReadOptions): Templates {
  return compileTemplates(checkedSources(files, options))
}

/** The files as sources of templates, by name. Throws TemplateError with the first fault of every file. */
export function checkedSources(files: readonly TemplateFile[], options: ReadOptions): TemplateSource[] {
  const faults: TemplateFault[] = []
  for (const { name: file, text: source } of files) {
    const fault = nameFault(file, options)
    if (fault !== null) faults.push({ file, line: null, text: fault })
    else
      try {
        checkSource(file, source)
      } catch (error) {
        if (!(error instanceof LineFault)) throw error
        faults.push({ file, line: error.line, text: error.message })
      }
  }
  if (!files.some(({ name }) => name === GENERIC + EXTENSION)) {
    const text = 'the template for every other event type is missing: add this file'
    faults.push({ file: GENERIC + EXTENSION, line: null, text })
  }
  if (faults.length > 0)
    throw new TemplateError(faults.sort((one, other) => (one.file < other.file ? -1 : 1)))
  return files
    .map((file) => ({ name: toEventType(file), revision: options.sha256(file.text), source: file.text }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Throws LineFault. */
function checkSource(file: string, source: string): void {
  const refuseIf = (isFault: boolean, line: number, text: string) => {
    if (isFault) throw new LineFault(line, text)
  }
  const garbled = source.search(/[\0\uFFFD]/)
  refuseIf(garbled !== -1, lineAt(source, garbled), 'this is not UTF-8 text: save the file as UTF-8')
  const conflict = findConflict(source)
  if (conflict !== null) throw new LineFault(conflict.line, conflict.text)
  const single = SINGLE_BRACES.exec(source)
  if (single !== null) {
    const [shown, name = ''] = single
    throw new LineFault(lineAt(source, single.index), `members would read ${shown}: write {{${name}}}`)
  }
  const parts = splitSource(source)
  const { bodyLine } = parts
  refuseIf(bodyLine === 1, 1, 'the subject is missing: begin the file with "Subject: …"')
  checkTags(parseTags(parts.subject))
  refuseIf(bodyLine === 2, 2, 'the subject is one line: leave the line after it blank')
  refuseIf(canBeBlank(parts.subject), 1, 'the subject is or can be empty: give it fixed words')
  refuseIf(parts.body.trim() === '', bodyLine, 'the body is empty: write it below the subject')
  checkTags(parseTags(parts.body, bodyLine))
  if (file === GENERIC + EXTENSION)
    refuseIf(finish(parts).body !== GENERIC_BODY, bodyLine, `the body must be exactly "${GENERIC_BODY}"`)
  else {
    const text = 'the body must insert {{locator}}, whether there is a reason or not'
    refuseIf(!insertsLocator(parts.body), bodyLine, text)
  }
}

function checkTags(tags: readonly Tag[]): void {
  for (const { name, line, isPartial } of tags) {
    if (isPartial) throw new LineFault(line, `partial ${quote(name)} cannot be used: write its text here`)
    if (!VARIABLES.some((variable) => variable === name)) throw new LineFault(line, unknownVariable(name))
  }
}

function unknownVariable(name: string): string {
  return `${quote(name)} is not a variable: the variables are ${VARIABLES.join(', ')}${didYouMean(nearest(name, VARIABLES))}`
}

export function toEventType({ name }: TemplateFile): string {
  return name.slice(0, -EXTENSION.length)
}

/** Event types that have a file, even one with faults. */
export function listEventTypes(files: readonly TemplateFile[]): string[] {
  return files
    .filter(({ name }) => nameFault(name) === null)
    .map(toEventType)
    .filter((eventType) => eventType !== GENERIC)
}

/** An event type that is not accepted is a typo if it is near to an accepted one, or not written like one. */
function nameFault(file: string, { accepted, seen }: Omit<ReadOptions, 'sha256'> = {}): string | null {
  const name = file.slice(0, -EXTENSION.length)
  if (!file.endsWith(EXTENSION) || name === '')
    return `is not a template: name it <event type>${EXTENSION}, or remove it`
  if (name === GENERIC || accepted?.includes(name) || seen?.includes(name)) return null
  const tidy = accepted === undefined ? name : tidied(name)
  const near = nearest(tidy, [GENERIC, ...(accepted ?? [])])
  const meant = near !== null && isSlip(tidy, near) ? near : tidy
  const remedy =
    seen === undefined
      ? `add the line ${quote(name)} to rules/outcomes.txt`
      : 'add its text once the first of them was received'
  return meant === name
    ? null
    : `${quote(name)} is not an accepted event type${didYouMean(meant)} If events have exactly this type, ${remedy}`
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
  const render = compileText(subject)
  return REASONS.some((reason) =>
    ['', 'l'].some((locator) => render({ eventType: 'e', locator, reason }).trim() === ''),
  )
}

/** True if the locator changes the text, with a reason and without. */
function insertsLocator(body: string): boolean {
  const render = compileText(body)
  return REASONS.every(
    (reason) =>
      render({ eventType: 'e', locator: 'l', reason }) !== render({ eventType: 'e', locator: 'm', reason }),
  )
}

function quote(name: string): string {
  return JSON.stringify(name)
}
