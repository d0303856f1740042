import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type EnvelopeMap, loadEnvelopeMap } from './core/envelope.ts'
import { createRuleTable, type RuleTable } from './core/rules/table.ts'
import { templates } from './generated/templates.ts'

/** The rule table that is served. */
export const RULE_TABLE = fileURLToPath(new URL('../rules/dispatch.csv', import.meta.url))
/** Where producers put things. */
export const ENVELOPE_MAP = fileURLToPath(new URL('../rules/envelope.json', import.meta.url))

/** Throws RuleTableError, or what reading the file throws. */
export async function readRuleTable(file: string): Promise<RuleTable> {
  return ruleTableOf(await readFile(file, 'utf8'))
}

/** A rule table of any time and place, from its text. Throws RuleTableError. */
export function ruleTableOf(csvText: string): Promise<RuleTable> {
  return createRuleTable(csvText, [...templates.byEventType.keys()], sha256)
}

/** Throws EnvelopeMapError, or what reading the file throws. */
export async function readEnvelopeMap(file: string): Promise<EnvelopeMap> {
  return loadEnvelopeMap(await readFile(file, 'utf8'))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
