// What src/generated/templates.ts is to today's templates, this module is to the first ones: see test/README.md.
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { readTemplates } from '../../src/authoring/templates/read-templates.ts'
import { readTemplateFiles } from '../../src/authoring/templates/template-files.ts'

/** They go with the rules of any folder. */
export const house = null

export const templates = readTemplates(readTemplateFiles(join(import.meta.dirname, 'templates')), {
  sha256: (text) => hash('sha256', text),
})
