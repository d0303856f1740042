import { relative } from 'node:path'
import { ENVELOPE_MAP, readText } from '../../service/app/authored-files.ts'
import {
  type EnvelopeMap,
  EnvelopeMapError,
  loadEnvelopeMaps,
  sourceText,
} from '../../service/decide/event/envelope-map.ts'
import type { FileReport } from './check-files.ts'

/** Summarises an envelope map, or lists its faults. Throws CorrectableError if the file cannot be read. */
export async function reviewEnvelopeMap(file = ENVELOPE_MAP): Promise<FileReport & { file: string }> {
  const name = relative('', file)
  try {
    const { byDefault, byTopic } = loadEnvelopeMaps(await readText(file))
    const ofTopics = [...byTopic].map(([topic, map]) => `\n  topic ${topic}: ${describeEnvelopeMap(map)}`)
    const summary = `maps ${describeEnvelopeMap(byDefault)}${ofTopics.join('')}`
    return { file: name, faults: [], warnings: [], summary }
  } catch (error) {
    if (!(error instanceof EnvelopeMapError)) throw error
    return { file: name, faults: error.faults, warnings: [], summary: null }
  }
}

function describeEnvelopeMap({ value, ...sources }: EnvelopeMap): string {
  const places = Object.entries(sources).map(([field, source]) => `${field} from ${sourceText(source)}`)
  return [...places, ...(value === 'json' ? [] : [`values are ${value}`])].join(', ')
}
