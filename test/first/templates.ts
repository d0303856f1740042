// What src/generated/templates.ts is to today's templates, this module is to the first ones: see test/README.md.
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { readTemplateFiles } from '../../src/build/template-files.ts'
import { readTemplates } from '../../src/core/templates/read-templates.ts'

export const templates = readTemplates(readTemplateFiles(join(import.meta.dirname, 'templates')), {
  sha256: (text) => hash('sha256', text),
})
