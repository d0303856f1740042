import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isTemplateFile, readTemplateFiles } from '../../build/template-files.ts'
import type { TemplateFile } from '../../core/templates/compile.ts'
import { CorrectableError } from '../../core/text/faults.ts'
import { checkRevision, listFilesAt, readFileAt } from './git.ts'

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

/** Reads a folder, or `folder` at a git revision; an existing folder takes precedence. Throws CorrectableError. */
export async function templateFilesAgainst(against: string, folder: string): Promise<TemplateFile[]> {
  const isFolder = await stat(against).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (isFolder) return templateFilesOf(against)
  await checkRevision(against, folder, 'folder')
  const names = (await listFilesAt(against, folder)).filter(isTemplateFile)
  return Promise.all(
    names.map(async (name) => ({ name, text: await readFileAt(against, join(folder, name)) })),
  )
}
