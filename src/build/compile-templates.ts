import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkTemplates } from '../core/templates/check-templates.ts'
import { compileTemplates, eventTypesOf, GENERIC, type TemplateFile } from '../core/templates/compile.ts'
import { TemplateError } from '../core/templates/template.ts'
import { readTemplateFiles } from './template-files.ts'

/*
 * A step of `make build`: node src/build/compile-templates.ts [--sound] [folder of templates] [module to write]
 * The module is left as it is where it would not change, so that its time tells when the templates did.
 * With --sound, stand-ins take the place of templates with faults: the commands that tell of faults need the module, too.
 */
const root = join(import.meta.dirname, '../..')
const {
  values: { sound },
  positionals: [folder = join(root, 'templates'), target = join(root, 'src/generated/templates.ts')],
} = parseArgs({ options: { sound: { type: 'boolean', default: false } }, allowPositionals: true })

try {
  const files = sound ? withStandIns(readTemplateFiles(folder)) : readTemplateFiles(folder)
  const { module } = compileTemplates(files, { sha256 })
  const written = writeIfChanged(target, module)
  process.stdout.write(`templates: ${files.length} compiled, ${written ? 'module written' : 'no change'}\n`)
} catch (error) {
  if (!(error instanceof TemplateError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

function withStandIns(files: readonly TemplateFile[]): TemplateFile[] {
  const { faults } = checkTemplates(files, { sha256 })
  const isFaulty = (name: string) => faults.some(({ file }) => file === name)
  const standIn = (eventType: string): TemplateFile => ({
    name: `${eventType}.mustache`,
    text: `Subject: News\n\n${eventType === GENERIC ? 'A {{eventType}} event has occurred' : '{{locator}}'}\n`,
  })
  const eventTypes = eventTypesOf(files.filter(({ name }) => isFaulty(name)))
  return [
    ...files.filter(({ name }) => !isFaulty(name)),
    ...[...eventTypes, ...(isFaulty(`${GENERIC}.mustache`) ? [GENERIC] : [])].map(standIn),
  ]
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

function writeIfChanged(file: string, text: string): boolean {
  if (readIfThere(file) === text) return false
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
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
