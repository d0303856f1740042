import { type CompileOptions, compileTemplates, eventTypeOf, GENERIC, type TemplateFile } from './compile.ts'
import { renderByMustache, splitSource } from './render.ts'
import type { Template, Templates } from './template.ts'

/**
 * Templates straight from their files, for candidates that were never built. Mustache itself renders them, with the same result
 * as the compiled ones. Throws TemplateError with the first fault of every file.
 */
export function readTemplates(files: readonly TemplateFile[], options: CompileOptions): Templates {
  compileTemplates(files, options)
  const byEventType = new Map(
    files.map((file): [string, Template] => {
      const { text } = file
      const { subject, body } = splitSource(text)
      const eventType = eventTypeOf(file)
      return [
        eventType,
        {
          name: eventType,
          revision: options.sha256(text),
          source: text,
          subject: (variables) => renderByMustache(subject, variables),
          body: (variables) => renderByMustache(body, variables),
        },
      ]
    }),
  )
  const generic = byEventType.get(GENERIC) as Template
  byEventType.delete(GENERIC)
  return { byEventType, generic }
}
