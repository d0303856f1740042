import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TemplateFile } from '../core/templates/compile.ts'

/** The files of a template folder, without its README and hidden files. */
export function readTemplateFiles(folder: string): TemplateFile[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && isTemplateFile(entry.name))
    .map(({ name }) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
}

export function isTemplateFile(name: string): boolean {
  return !name.startsWith('.') && name !== 'README.md'
}
