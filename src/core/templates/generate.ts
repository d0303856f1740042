import type { Piece } from './parse.ts'
import type { Variables } from './template.ts'

/** A template that can be compiled: its variables are known, and it has no partials. */
export interface SoundTemplate {
  readonly name: string
  readonly revision: string
  readonly source: string
  readonly subject: readonly Piece[]
  readonly body: readonly Piece[]
}

/** The expression in the generated code for each variable as text. A null reason inserts nothing, as in mustache. */
export const EXPRESSIONS = {
  eventType: 'variables.eventType',
  locator: 'variables.locator',
  reason: "(variables.reason ?? '')",
} as const satisfies Record<keyof Variables, string>

/**
 * Text of a TypeScript module that exports `templates: Templates`, for `src/generated/`. Template text appears in it only as JSON
 * strings, so none of it can be code.
 */
export function generateModule(byEventType: readonly SoundTemplate[], generic: SoundTemplate): string {
  const entries = byEventType.map((template) => `  [${quote(template.name)}, ${entry(template)}],\n`)
  return `// Generated from templates/ by src/build/compile-templates.ts: edit those, then run make build.
import type { Template, Templates } from '../core/templates/template.ts'

const byEventType = new Map<string, Template>([
${entries.join('')}])

export const templates: Templates = {
  byEventType,
  generic: ${entry(generic)},
}
`
}

function entry({ name, revision, source, subject, body }: SoundTemplate): string {
  return `{
    name: ${quote(name)},
    revision: ${quote(revision)},
    source: ${quote(source)},
    subject: (variables) => ${concatenation(subject)},
    body: (variables) => ${concatenation(body)},
  }`
}

function concatenation(pieces: readonly Piece[]): string {
  return pieces.map(expression).join(' + ') || "''"
}

function expression(piece: Piece): string {
  switch (piece.kind) {
    case 'text':
      return quote(piece.text)
    case 'variable':
      return EXPRESSIONS[known(piece.name)]
    case 'section': {
      const within = concatenation(piece.pieces)
      const [then, otherwise] = piece.inverted ? ["''", within] : [within, "''"]
      return `(variables.${known(piece.name)} ? ${then} : ${otherwise})`
    }
    case 'partial':
      throw new Error(`partial "${piece.name}" cannot be compiled`)
    default:
      return piece satisfies never
  }
}

/** Last check before a name becomes code. */
function known(name: string): keyof Variables {
  if (!isVariable(name)) throw new Error(`"${name}" is no variable`)
  return name
}

export function isVariable(name: string): name is keyof Variables {
  return Object.hasOwn(EXPRESSIONS, name)
}

/** JSON with the two line separators escaped that editors and older parsers take for line breaks. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}
