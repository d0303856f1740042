import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compileTemplates } from '../core/templates/compile.ts'
import { TemplateError } from '../core/templates/errors.ts'
import { readTemplateFiles } from './template-files.ts'

/*
 * A step of `make build`: node src/build/compile-templates.ts [folder of templates] [module to write]
 * The module is left as it is where it would not change, so that its time tells when the templates did.
 */
const root = join(import.meta.dirname, '../..')
const [folder = join(root, 'templates'), target = join(root, 'src/generated/templates.ts')] =
  process.argv.slice(2)

try {
  const files = readTemplateFiles(folder)
  const { module } = compileTemplates(files, { sha256 })
  const written = writeIfChanged(target, module)
  process.stdout.write(`templates: ${files.length} compiled, ${written ? 'module written' : 'no change'}\n`)
} catch (error) {
  if (!(error instanceof TemplateError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
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
