import { splitSource } from '../../service/decide/templates/render.ts'
import {
  TemplateError,
  type TemplateFault,
  type Templates,
  VARIABLES,
} from '../../service/decide/templates/template.ts'
import { isPart, listInserted, readParts } from './insert-parts.ts'
import { parseTags } from './parse.ts'
import { type Preview, previewTexts } from './preview.ts'
import { type ReadOptions, readTemplates, type TemplateFile, toEventType } from './read-templates.ts'
import { beyondGsm, type SmsLength } from './sms-length.ts'

export interface TemplateLine {
  readonly file: string
  /** SMS segments of its longest text. */
  readonly sms: SmsLength
  /** Variables that the text inserts or tests. */
  readonly uses: readonly string[]
}

export interface TemplateReport {
  readonly faults: readonly TemplateFault[]
  /** By file and line, then the variables that no template uses. */
  readonly warnings: readonly TemplateFault[]
  /** Empty if there are faults. */
  readonly lines: readonly TemplateLine[]
  /** Null where there are faults, like `previews`. */
  readonly templates: Templates | null
  readonly previews: readonly Preview[] | null
}

export function checkTemplates(files: readonly TemplateFile[], options: ReadOptions): TemplateReport {
  let templates: Templates
  try {
    templates = readTemplates(files, options)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return { faults: error.faults, warnings: [], lines: [], templates: null, previews: null }
  }
  const previews = previewTexts(templates)
  const previewOf = new Map(previews.map((preview) => [preview.name, preview]))
  const sorted = files.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const lines = sorted.flatMap(({ name: file }) => {
    const template = templates.get(toEventType({ name: file }))
    if (template === undefined) return []
    const texts = previewOf.get(template.name)?.texts ?? []
    const lengths = texts.map(({ sms }) => sms).sort((a, b) => b.segments - a.segments)
    return [{ file, sms: lengths[0] as SmsLength, uses: listVariables(template.source) }]
  })
  const inserted = new Set(files.flatMap(({ text }) => listInserted(text)))
  const idle = [...readParts(files).keys()].filter((name) => !inserted.has(name))
  const used = new Set(lines.flatMap(({ uses }) => uses))
  const unused = VARIABLES.filter((name) => !used.has(name))
  return {
    faults: [],
    warnings: [
      ...sorted.flatMap(beyondGsmIn),
      ...sorted.filter((file) => !isPart(file)).flatMap(unguardedReasons),
      ...idle.map((name) => ({ file: '', line: null, text: `no template inserts {{> ${name}}}` })),
      ...unused.map((name) => ({ file: '', line: null, text: `no template uses {{${name}}}` })),
    ],
    lines,
    templates,
    previews,
  }
}

function listVariables(source: string): string[] {
  const { subject, body } = splitSource(source)
  return [...new Set([subject, body].flatMap((part) => parseTags(part)).map(({ name }) => name))].sort()
}

/** Reasons outside `{{#reason}}`: without a reason they leave a gap in the sentence. */
function unguardedReasons({ name, text }: TemplateFile): TemplateFault[] {
  const { subject, body, bodyLine } = splitSource(text)
  return [...parseTags(subject), ...parseTags(body, bodyLine)]
    .filter((tag) => tag.name === 'reason' && tag.isInserted && tag.within === null)
    .map(({ line }) => ({
      file: name,
      line,
      text: 'an event without a reason leaves a gap here: write {{#reason}}…{{/reason}} around the words about it',
    }))
}

/** Body lines with characters that more than double the length of an SMS. An SMS has no subject. */
function beyondGsmIn({ name, text }: TemplateFile): TemplateFault[] {
  const { body, bodyLine } = splitSource(text)
  return body.split('\n').flatMap((line, index) => {
    const characters = beyondGsm(line)
    if (characters.length === 0) return []
    const what = `${characters.join(' ')} ${characters.length === 1 ? 'is' : 'are'} not in the alphabet of SMS`
    return [
      {
        file: name,
        line: bodyLine + index,
        text: `${what}: a segment then holds 67 characters instead of 153`,
      },
    ]
  })
}
