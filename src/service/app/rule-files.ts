import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { house, templates } from '#generated/templates.ts'
import { type EnvelopeMaps, loadEnvelopeMaps, loadStoredMaps, mapOf } from '../decide/event/envelope-map.ts'
import type { Message } from '../decide/event/message.ts'
import { type ParseResult, parseEvent } from '../decide/event/parse-event.ts'
import { enumerate } from '../decide/rules/first-match.ts'
import { keepsPromises, warnOfChannels } from '../decide/rules/judge-rules.ts'
import { listNaming, loadPromises } from '../decide/rules/load-promises.ts'
import { loadRuleTable } from '../decide/rules/load-table.ts'
import { enumeratedTable, type RuleTable } from '../decide/rules/table.ts'
import { PromisesError, RuleTableError } from '../decide/rules/table-errors.ts'
import { findUnknownEventTypes } from '../decide/rules/unknown-event-types.ts'
import { listTypesWithReason, listTypesWithTemplate, type Templates } from '../decide/templates/template.ts'
import { CorrectableError, describeFault, wholeFault } from '../text/faults.ts'

const HOUSE = process.env.HOUSE ? resolve(process.env.HOUSE) : ''
/** Null only in tests. */
const compiledFrom: string | null = house

export const TEMPLATES = authored('templates')
export const RULE_TABLE = authored('rules/dispatch.csv')
export const PROMISES = authored('rules/promises.csv')
/** The accepted outcome of every situation, and the accepted texts. */
export const OUTCOMES_FILE = authored('rules/outcomes.txt')
/** How many events had which facts. A house may lack it. */
export const TRAFFIC = authored('rules/traffic.csv')
/** Maps the fields of an event to places in its message. */
export const ENVELOPE_MAP = authored('rules/envelope.json')

export const TEMPLATE_EVENT_TYPES: readonly string[] = listTypesWithTemplate(templates)
const TYPES_WITH_REASON: ReadonlySet<string> = new Set(listTypesWithReason(templates))

/** True if the text of an event type inserts the reason. */
export const givesReason = (eventType: string): boolean => TYPES_WITH_REASON.has(eventType)

/** The files of `rules/` that this version was reviewed with and decides by. */
export interface RuleFiles {
  readonly templates: Templates
  readonly ruleTable: RuleTable
  readonly promises: string
  readonly envelopeMaps: EnvelopeMaps
  /** Its text, and the hash of its text. */
  readonly envelopeMapRevision: { readonly revision: string; readonly source: string }
  /** Channels that no rule names, and event types in the rule table that may be typos, or intended. */
  readonly warnings: readonly string[]
}

/**
 * Reads and checks the rule files. Throws RuleTableError, PromisesError, EnvelopeMapError or CorrectableError. A table that
 * breaks a promise is refused like any other faulty one: events can wait, but a message cannot be called back.
 */
export async function readRuleFiles(): Promise<RuleFiles> {
  const [source, promises] = [await readText(RULE_TABLE), await readText(PROMISES)]
  const rules = loadRuleTable(source, TEMPLATE_EVENT_TYPES)
  const promised = loadPromises(promises, rules, TEMPLATE_EVENT_TYPES)
  const unknown = findUnknownEventTypes(rules, TEMPLATE_EVENT_TYPES)
  if (unknown.faults.length > 0) throw new RuleTableError(unknown.faults)
  const unknownInPromises = findUnknownEventTypes(listNaming(promised), TEMPLATE_EVENT_TYPES)
  if (unknownInPromises.faults.length > 0) throw new PromisesError(unknownInPromises.faults)
  const enumeration = await enumerate(rules, TEMPLATE_EVENT_TYPES)
  const ruleTable = enumeratedTable(enumeration, source, sha256(source))
  if (!keepsPromises(promised, enumeration))
    throw new PromisesError([wholeFault('the rule table breaks one: run `rules check`')])
  const envelopeMap = await readText(ENVELOPE_MAP)
  return {
    templates,
    ruleTable,
    promises,
    envelopeMaps: loadEnvelopeMaps(envelopeMap),
    envelopeMapRevision: { revision: sha256(envelopeMap), source: envelopeMap },
    warnings: [...warnOfChannels(enumeration), ...unknown.warnings].map(
      (warning) => `rule table, ${describeFault(warning)}`,
    ),
  }
}

/**
 * Parses messages as the envelope map of any revision does; as the current one if it is null, or if this version cannot read that
 * revision.
 */
export function createParseBy(
  current: EnvelopeMaps,
  currentRevision: string,
  readArchived: (revision: string) => Promise<string | null>,
): (topic: string, message: Message, revision: string | null) => Promise<ParseResult> {
  const known = new Map<string, EnvelopeMaps>()
  async function readMaps(revision: string): Promise<EnvelopeMaps> {
    const source = await readArchived(revision)
    return (source === null ? null : loadStoredMaps(source)) ?? current
  }
  return async (topic, message, revision) => {
    if (revision === null || revision === currentRevision) return parseEvent(message, mapOf(current, topic))
    const maps = known.get(revision) ?? (await readMaps(revision))
    known.set(revision, maps)
    return parseEvent(message, mapOf(maps, topic))
  }
}

/** Throws CorrectableError. */
export async function readText(file: string): Promise<string> {
  return (await readBytes(file)).toString()
}

/** Throws CorrectableError; for any file if texts of another folder are compiled in, as after `make rules-check HOUSE=…`. */
export async function readBytes(file: string): Promise<Buffer> {
  if (compiledFrom !== null && compiledFrom !== HOUSE)
    throw new CorrectableError(
      `the compiled texts are those of ${compiledFrom || 'this folder'}: run \`make build${HOUSE && ` HOUSE=${HOUSE}`}\``,
    )
  try {
    return await readFile(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new CorrectableError(
      `${file} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}`,
    )
  }
}

/** The files of the folder `HOUSE`; under the condition `first-rules` those of the tests: see "imports" in package.json. */
function authored(path: string): string {
  if (HOUSE !== '') return resolve(HOUSE, path)
  return fileURLToPath(import.meta.resolve(`#authored/${path}`))
}

/** A revision: the SHA-256 of a text's UTF-8 bytes, in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
