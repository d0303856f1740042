import { templates } from '#generated/templates.ts'
import { type EnvelopeMaps, loadEnvelopeMaps } from '../decide/event/envelope-map.ts'
import { enumerate } from '../decide/rules/first-match.ts'
import { keepsPromises, warnOfChannels } from '../decide/rules/judge-rules.ts'
import { listNaming, loadPromises } from '../decide/rules/load-promises.ts'
import { loadRuleTable } from '../decide/rules/load-table.ts'
import { enumeratedTable, type RuleTable } from '../decide/rules/table.ts'
import { PromisesError, RuleTableError } from '../decide/rules/table-errors.ts'
import { findUnknownEventTypes } from '../decide/rules/unknown-event-types.ts'
import { listTypesWithReason, listTypesWithTemplate, type Templates } from '../decide/templates/template.ts'
import { describeFault, wholeFault } from '../text/faults.ts'
import { ENVELOPE_MAP, PROMISES, RULE_TABLE, readText } from './authored-files.ts'
import { sha256 } from './sha256.ts'

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
