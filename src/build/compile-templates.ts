import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { acceptedEventTypes } from '../authoring/outcomes/list-outcomes.ts'
import { checkTemplates } from '../authoring/templates/check-templates.ts'
import { checkedSources, type TemplateFile } from '../authoring/templates/read-templates.ts'
import { readTemplateFiles } from '../authoring/templates/template-files.ts'
import type { TemplateSource } from '../service/decide/templates/template.ts'
import { CorrectableError } from '../service/text/faults.ts'

/*
 * A step of `make build`: node src/build/compile-templates.ts [--sound] [template folder] [output module]
 * The environment variable HOUSE names another folder that has `templates/` and `rules/`.
 * An unchanged module is not written, so that its time tells when the templates changed. With --sound, stand-ins replace faulty
 * templates: the commands that report faults need the module, too.
 */
const root = join(import.meta.dirname, '../..')
const house = process.env.HOUSE || root
const {
  values: { sound },
  positionals: [folder = join(house, 'templates'), target = join(root, 'src/generated/templates.ts')],
} = parseArgs({ options: { sound: { type: 'boolean', default: false } }, allowPositionals: true })

const GENERIC_FILE = 'generic.mustache'
const accepted = acceptedEventTypes(readIfThere(join(house, 'rules/outcomes.txt')) ?? '')

try {
  const files = sound ? withStandIns(readTemplateFiles(folder)) : readTemplateFiles(folder)
  const sources = checkedSources(files, { sha256, accepted })
  const written = writeIfChanged(target, writeModule(sources))
  process.stdout.write(`templates: ${sources.length} compiled, ${written ? 'module written' : 'no change'}\n`)
} catch (error) {
  if (!(error instanceof CorrectableError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

function writeModule(sources: readonly TemplateSource[]): string {
  return `// Generated from templates/ by src/build/compile-templates.ts: edit those, then run make build.
import { compileTemplates } from '../service/decide/templates/render.ts'

/** Their folder in HOUSE; blank: this repository. */
export const house = ${JSON.stringify(process.env.HOUSE ? resolve(process.env.HOUSE) : '')}

export const templates = compileTemplates(${JSON.stringify(sources, null, 2)})
`
}

function withStandIns(files: readonly TemplateFile[]): TemplateFile[] {
  const { faults } = checkTemplates(files, { sha256, accepted })
  const faulty = new Set(faults.map(({ file }) => file))
  // Without a line, the file name is wrong, or the generic template is missing.
  const replaced = faults.filter(({ file, line }) => line !== null || file === GENERIC_FILE)
  return [
    ...files.filter(({ name }) => !faulty.has(name)),
    ...replaced.map(({ file }) => ({
      name: file,
      text: `Subject: News\n\n${file === GENERIC_FILE ? 'A {{eventType}} event has occurred' : '{{locator}}'}\n`,
    })),
  ]
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

function writeIfChanged(file: string, text: string): boolean {
  if (readIfThere(file) === text) return false
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CorrectableError(`${file} cannot be written (${code}): work in a checkout that belongs to you`)
  }
  return true
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
