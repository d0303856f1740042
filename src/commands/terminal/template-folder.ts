import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isTemplateFile, readTemplateFiles } from '../../build/template-files.ts'
import type { TemplateFile } from '../../core/templates/compile.ts'
import { CorrectableError } from '../../core/text/faults.ts'
import { listFilesAt, readFileAt } from './git.ts'

/** The templates that are compiled. */
export const TEMPLATES = fileURLToPath(new URL('../../../templates', import.meta.url))

/** Throws CorrectableError. */
export function templateFilesOf(folder: string): TemplateFile[] {
  try {
    return readTemplateFiles(folder)
  } catch (error) {
    throw new CorrectableError(`${folder} cannot be read: name a folder of templates`, { cause: error })
  }
}

/** Reads the templates at a git revision. Throws CorrectableError. */
export async function templateFilesAt(revision: string): Promise<TemplateFile[]> {
  const names = (await listFilesAt(revision, TEMPLATES)).filter(isTemplateFile)
  return Promise.all(
    names.map(async (name) => ({ name, text: await readFileAt(revision, join(TEMPLATES, name)) })),
  )
}
