import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import mustache from 'mustache'
import { compileTemplates, type TemplateFile } from '../../../src/core/templates/compile.ts'
import { splitSource } from '../../../src/core/templates/render.ts'
import type { Templates, Variables } from '../../../src/core/templates/template.ts'

const folder = join(import.meta.dirname, '../../../templates')

/** The templates of this project. */
export const files: readonly TemplateFile[] = readdirSync(folder)
  .filter((name) => name !== 'README.md')
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function compile(files: readonly TemplateFile[]): string {
  return compileTemplates(files, { sha256 }).module
}

/** This project's files, with other texts for some of them (null: no such file) or with more of them. */
export function filesWith(changes: Readonly<Record<string, string | null>>): readonly TemplateFile[] {
  const kept = files.filter(({ name }) => !Object.hasOwn(changes, name))
  const changed = Object.entries(changes).flatMap(([name, text]) => (text === null ? [] : [{ name, text }]))
  return [...kept, ...changed]
}

/** Imports a generated module; .mts, because no package.json around a temporary folder says what a .ts is. */
export async function load(module: string): Promise<Templates> {
  const directory = mkdtempSync(join(tmpdir(), 'templates-'))
  try {
    const file = join(directory, 'templates.mts')
    writeFileSync(file, module)
    return (await import(pathToFileURL(file).href)).templates
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** What mustache itself makes of a source, nothing escaped. */
export function renderByMustache(source: string, variables: Variables): { subject: string; body: string } {
  const { subject, body } = splitSource(source)
  const fill = (template: string) => mustache.render(template, variables, {}, { escape: String })
  return { subject: fill(subject), body: fill(body) }
}

const HOSTILE = `<b>&"'\`\${x}{{locator}}\\\r\n\u2028$&`

/** Variables of every kind that matters to a template. */
export const variableSets: readonly Variables[] = ['claim.rejected', 'pet.adopted', HOSTILE].flatMap(
  (eventType) =>
    ['CLM-1', '', HOSTILE].flatMap((locator) =>
      [null, '', 'Too late.', HOSTILE].map((reason) => ({ eventType, locator, reason })),
    ),
)
