import { compileTemplates, compileText, finish, splitSource } from '../../service/decide/templates/render.ts'
import {
  GENERIC,
  TemplateError,
  type TemplateFault,
  type TemplateSource,
  type Templates,
  VARIABLES,
} from '../../service/decide/templates/template.ts'
import { didYouMean, isSlip, nearest } from '../../service/text/nearest.ts'
import { insertParts, isPart, listInserted, nameOfPart, readParts } from './insert-parts.ts'
import { findConflict, LineFault, lineAt, parseTags, type Tag } from './parse.ts'

/** A file below `templates/`: its name there, and its unchanged text, BOM and line breaks included. */
export interface TemplateFile {
  readonly name: string
  readonly text: string
}

export interface ReadOptions {
  /** SHA-256 of a text's UTF-8 bytes, in hexadecimal. */
  readonly sha256: (text: string) => string
  /** Accepted event types, against which file names are checked; absent: any name is valid. */
  readonly accepted?: readonly string[]
  /** Types of recent events, which are also valid; a name similar to one of them is misspelt. */
  readonly seen?: readonly string[]
}

const EXTENSION = '.mustache'
/** Fixed by the specification. */
const GENERIC_BODY = 'A {{eventType}} event has occurred'

/** A variable in one pair of braces. */
const SINGLE_BRACES = new RegExp(`(?<!\\{)\\{\\s*(${VARIABLES.join('|')})\\s*\\}(?!\\})`)

/** The templates of these files. Throws TemplateError with the first fault of every file. */
export function readTemplates(files: readonly TemplateFile[], options: ReadOptions): Templates {
  return compileTemplates(checkedSources(files, options))
}

/**
 * The files as sources of templates, by name, with parts inserted, so that an archived source renders alone. Throws TemplateError
 * with the first fault of every file.
 */
export function checkedSources(files: readonly TemplateFile[], options: ReadOptions): TemplateSource[] {
  const faults: TemplateFault[] = []
  const check = (file: TemplateFile, checkText: () => void): boolean => {
    try {
      const fault = nameFault(file.name, options)
      if (fault !== null) throw new LineFault(null, fault)
      checkText()
      return true
    } catch (error) {
      if (!(error instanceof LineFault)) throw error
      faults.push({ file: file.name, line: error.line, text: error.message })
      return false
    }
  }
  const [partFiles, templates] = [files.filter(isPart), files.filter((file) => !isPart(file))]
  const sound = readParts(partFiles.filter((part) => check(part, () => checkPart(part.text))))
  const parts = { names: [...readParts(partFiles).keys()], sound }
  for (const file of templates) check(file, () => checkSource(file, parts))
  if (!templates.some(({ name }) => name === GENERIC + EXTENSION)) {
    const text = 'the template for every other event type is missing: add this file'
    faults.push({ file: GENERIC + EXTENSION, line: null, text })
  }
  if (faults.length > 0) throw new TemplateError(faults.sort((a, b) => (a.file < b.file ? -1 : 1)))
  return templates
    .map((file) => {
      const source = insertParts(file.text, sound)
      return { name: toEventType(file), revision: options.sha256(source), source }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Throws LineFault. */
function checkPart(text: string): void {
  checkWording(text)
  checkTags(parseTags(text), null)
}

/** Checks for faults of any file. Throws LineFault. */
function checkWording(source: string): void {
  const garbled = source.search(/[\0\uFFFD]/)
  if (garbled !== -1)
    throw new LineFault(lineAt(source, garbled), 'this is not UTF-8 text: save the file as UTF-8')
  const conflict = findConflict(source)
  if (conflict !== null) throw new LineFault(conflict.line, conflict.text)
  const single = SINGLE_BRACES.exec(source)
  if (single !== null) {
    const [shown, name = ''] = single
    throw new LineFault(lineAt(source, single.index), `members would read ${shown}: write {{${name}}}`)
  }
}

interface Parts {
  /** Event types that have a file. */
  readonly names: readonly string[]
  /** The texts without a fault. */
  readonly sound: ReadonlyMap<string, string>
}

/** Throws LineFault. */
function checkSource({ name: file, text: source }: TemplateFile, parts: Parts): void {
  const refuseIf = (isFault: boolean, line: number, text: string) => {
    if (isFault) throw new LineFault(line, text)
  }
  checkWording(source)
  const { subject, body: own, bodyLine } = splitSource(source)
  refuseIf(bodyLine === 1, 1, 'the subject is missing: begin the file with "Subject: …"')
  checkTags(parseTags(subject), null)
  refuseIf(bodyLine === 2, 2, 'the subject is one line: leave the line after it blank')
  refuseIf(canBeBlank(subject), 1, 'the subject is or can be empty: give it fixed words')
  refuseIf(own.trim() === '', bodyLine, 'the body is empty: write it below the subject')
  checkTags(parseTags(own, bodyLine), parts.names)
  // The part's own fault suffices.
  if (listInserted(own).some((name) => !parts.sound.has(name))) return
  const body = insertParts(own, parts.sound)
  if (file === GENERIC + EXTENSION)
    refuseIf(
      finish({ subject, body }).body !== GENERIC_BODY,
      bodyLine,
      `the body must be exactly "${GENERIC_BODY}"`,
    )
  else {
    const text = 'the body must insert {{locator}}, whether there is a reason or not'
    refuseIf(!insertsLocator(body), bodyLine, text)
  }
}

/** `parts`: those that may be inserted here; null if none may. */
function checkTags(tags: readonly Tag[], parts: readonly string[] | null): void {
  for (const { name, line, isPartial, isInserted, within } of tags) {
    if (isPartial) {
      const fault = partialFault(name, parts)
      if (fault !== null) throw new LineFault(line, fault)
    } else if (!VARIABLES.some((variable) => variable === name))
      throw new LineFault(line, unknownVariable(name))
    else if (isInserted && within === '^')
      throw new LineFault(
        line,
        `{{${name}}} is always empty here, within {{^${name}}}: write {{#${name}}}…{{/${name}}} around what is shown with it`,
      )
  }
}

function partialFault(name: string, parts: readonly string[] | null): string | null {
  if (parts === null) return `part ${quote(name)} cannot be inserted here: write its text`
  return parts.includes(name)
    ? null
    : `there is no part ${quote(name)}: add it as templates/parts/${name}${EXTENSION}${didYouMean(nearest(name, parts))}`
}

function unknownVariable(name: string): string {
  return `${quote(name)} is not a variable: the variables are ${VARIABLES.join(', ')}${didYouMean(nearest(name, VARIABLES))}`
}

export function toEventType({ name }: Pick<TemplateFile, 'name'>): string {
  return name.slice(0, -EXTENSION.length)
}

/** Event types that have a file, even one with faults. */
export function listEventTypes(files: readonly TemplateFile[]): string[] {
  return files
    .filter((file) => !isPart(file) && nameFault(file.name) === null)
    .map(toEventType)
    .filter((eventType) => eventType !== GENERIC)
}

/** An unaccepted event type is a typo if it is similar to an accepted one, or not written like one. */
function nameFault(file: string, { accepted, seen }: Omit<ReadOptions, 'sha256'> = {}): string | null {
  if (isPart({ name: file }))
    return nameOfPart({ name: file }) === null
      ? `is not a part: name it parts/<word>${EXTENSION}, in lower case without blanks`
      : null
  const name = file.slice(0, -EXTENSION.length)
  if (!file.endsWith(EXTENSION) || name === '')
    return `is not a template: name it <event type>${EXTENSION}, or remove it`
  if (name === GENERIC || accepted?.includes(name) || seen?.includes(name)) return null
  const tidy = accepted === undefined ? name : tidied(name)
  const near = nearest(tidy, [GENERIC, ...(accepted ?? []), ...(seen ?? [])])
  const meant = near !== null && isSlip(tidy, near) ? near : tidy
  return meant === name
    ? null
    : `${quote(name)} is not an accepted event type${didYouMean(meant)} If events have exactly this type, add its text once the first of them was received, or add the line ${quote(name)} to rules/outcomes.txt`
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

/** True if the locator affects the text, both with a reason and without. */
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
