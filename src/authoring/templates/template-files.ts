import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CorrectableError } from '../../service/text/faults.ts'
import type { TemplateFile } from './read-templates.ts'

/** The files of a template folder, without its README and hidden files. Throws CorrectableError. */
export function readTemplateFiles(folder: string): TemplateFile[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && isTemplateFile(entry.name))
      .map(({ name }) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
  } catch (cause) {
    throw new CorrectableError(`${folder} cannot be read: name a folder of templates`, { cause })
  }
}

export function isTemplateFile(name: string): boolean {
  return !name.startsWith('.') && name !== 'README.md'
}
