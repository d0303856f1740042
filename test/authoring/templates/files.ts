import { join } from 'node:path'
import { readTemplates, type TemplateFile } from '../../../src/authoring/templates/read-templates.ts'
import { readTemplateFiles } from '../../../src/authoring/templates/template-files.ts'
import type { Templates } from '../../../src/service/decide/templates/template.ts'
import { sha256 } from '../../service/build.ts'

/** The first templates. */
export const files: readonly TemplateFile[] = readTemplateFiles(
  join(import.meta.dirname, '../../first/templates'),
)

/** The first templates, with other texts for some of them (null: no such file) or with more of them. */
export function filesWith(changes: Readonly<Record<string, string | null>>): readonly TemplateFile[] {
  const kept = files.filter(({ name }) => !Object.hasOwn(changes, name))
  const changed = Object.entries(changes).flatMap(([name, text]) => (text === null ? [] : [{ name, text }]))
  return [...kept, ...changed]
}

export function templatesWith(changes: Readonly<Record<string, string | null>>): Templates {
  return readTemplates(filesWith(changes), { sha256 })
}
