import { splitSource } from '../../service/decide/templates/render.ts'
import {
  TemplateError,
  type TemplateFault,
  type Templates,
  VARIABLES,
} from '../../service/decide/templates/template.ts'
import { parseTags } from './parse.ts'
import { type Preview, previewTexts } from './preview.ts'
import { type ReadOptions, readTemplates, type TemplateFile, toEventType } from './read-templates.ts'
import { beyondGsm, type SmsLength } from './sms-length.ts'

export interface TemplateLine {
  readonly file: string
  /** SMS segments of its longest text. */
  readonly sms: SmsLength
  /** Variables that it inserts or tests. */
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
  const previewOf = new Map(previews.map((one) => [one.name, one]))
  const sorted = files.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  const lines = sorted.map((file) => {
    const texts = previewOf.get(toEventType(file))?.texts ?? []
    const lengths = texts.map(({ sms }) => sms).sort((one, other) => other.segments - one.segments)
    return { file: file.name, sms: lengths[0] as SmsLength, uses: listVariables(file.text) }
  })
  const used = new Set(lines.flatMap(({ uses }) => uses))
  const unused = VARIABLES.filter((name) => !used.has(name))
  return {
    faults: [],
    warnings: [
      ...sorted.flatMap(beyondGsmIn),
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
