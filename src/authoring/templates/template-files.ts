import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CorrectableError } from '../../service/text/faults.ts'
import type { TemplateFile } from './read-templates.ts'

/** Path below the folder of templates. */
export const TEMPLATE_FOLDERS = ['', 'parts'] as const

/** The files of a template folder and of `parts/` in it, without READMEs and hidden files. Throws CorrectableError. */
export function readTemplateFiles(folder: string): TemplateFile[] {
  try {
    return TEMPLATE_FOLDERS.filter((part) => existsSync(join(folder, part)) || part === '').flatMap((part) =>
      readdirSync(join(folder, part), { withFileTypes: true })
        .filter((entry) => entry.isFile() && isTemplateFile(entry.name))
        .map((entry) => {
          const name = join(part, entry.name)
          return { name, text: readFileSync(join(folder, name), 'utf8') }
        }),
    )
  } catch (cause) {
    throw new CorrectableError(`${folder} cannot be read: name a folder of templates`, { cause })
  }
}

export function isTemplateFile(name: string): boolean {
  return !name.startsWith('.') && name !== 'README.md'
}
