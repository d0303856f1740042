import { beginsWithReason } from '../../service/decide/decision/decide.ts'
import { readStated } from '../../service/decide/decision/facts.ts'
import {
  type DecidedResult,
  describeResult,
  type RecordedResult,
} from '../../service/decide/decision/result.ts'
import { WITHOUT_RULE } from '../../service/decide/decision/skip-pruned.ts'
import { INVALID_LOCATOR } from '../../service/decide/event/stated-facts.ts'
import { type LogRow, logRow } from '../../service/model/log/log-entry.ts'
import { type Decisions, type RebuildResult, type ReplayedDecision, rebuild } from './rebuild-entry.ts'
import type { Difference } from './replay-finding.ts'

/** The data stored under a locator: a log row, decisions, or both. */
export interface RecordedEntry {
  readonly locator: string
  readonly row: LogRow | null
  readonly decisions: readonly ReplayedDecision[]
}

export interface Archive {
  readonly findTemplate: (revision: string) => string | undefined
  readonly loadTable: (revision: string) => Promise<Decider | Unverifiable>
}
export interface Decider {
  /** Null if only another version can decide; undefined if no rule matches. */
  readonly decide: (facts: ReplayedDecision['facts']) => DecidedResult | null | undefined
}

/** The reason why an entry could not be verified: the same text for each entry with this cause. */
export interface Unverifiable {
  readonly fault: string
  /** True if another version of the service can verify it, which is no fault. */
  readonly isOfOtherVersion: boolean
}

export interface Verification {
  readonly differences: readonly Difference[]
  readonly unverifiable: readonly Unverifiable[]
}

type Field = Exclude<keyof LogRow, 'locator'>
const FIELDS = Object.keys(logRow.omit({ locator: true }).shape) as Field[]

/** Compares a row with its decisions, and each decision with the rule table then in force. */
export async function verify(
  { locator, row, decisions }: RecordedEntry,
  archive: Archive,
): Promise<Verification> {
  if (!hasDecisions(decisions)) {
    const differences: Difference[] =
      row === null ? [] : [{ kind: 'unexplained', locator, eventId: row.eventId }]
    return { differences, unverifiable: [] }
  }
  const rebuilt = rebuild(locator, decisions, archive.findTemplate)
  if (rebuilt === null) return { differences: [], unverifiable: [UNKNOWN_OUTCOME] }
  const differences = compare(locator, row, rebuilt)
  const unverifiable: Unverifiable[] = []
  if (rebuilt.textFault !== null) unverifiable.push({ fault: rebuilt.textFault, isOfOtherVersion: false })
  for (const decision of decisions) {
    // No rule made this decision.
    if (WITHOUT_RULE.includes(decision.ruleId)) continue
    const table = await archive.loadTable(decision.ruleTableRevision)
    const result = 'fault' in table ? table : table.decide(decision.facts)
    if (result === null) unverifiable.push(undecidable(decision))
    else if (result !== undefined && 'fault' in result) unverifiable.push(result)
    else differences.push(...checkDecision(locator, decision, result))
  }
  return { differences, unverifiable }
}

/** The row to insert for a locator with decisions but no row; null if a row exists or cannot be rebuilt. */
export function missingRow(
  { locator, row, decisions }: RecordedEntry,
  { findTemplate }: Pick<Archive, 'findTemplate'>,
): LogRow | null {
  if (row !== null || !hasDecisions(decisions)) return null
  const rebuilt = rebuild(locator, decisions, findTemplate)
  return rebuilt?.textFault === null ? rebuilt.row : null
}

const UNKNOWN_OUTCOME = {
  fault: 'the row cannot be rebuilt by this version, which does not know the outcome of its decision',
  isOfOtherVersion: true,
}

function undecidable({ ruleTableRevision }: ReplayedDecision): Unverifiable {
  return {
    fault: `the decisions cannot be made again by this version: they depend on facts, or on cells of rule table revision ${ruleTableRevision}, that only another version knows`,
    isOfOtherVersion: true,
  }
}

function hasDecisions(decisions: readonly ReplayedDecision[]): decisions is Decisions {
  return decisions.length > 0
}

function compare(locator: string, stored: LogRow | null, { row, textFault }: RebuildResult): Difference[] {
  if (stored === null) return [{ kind: 'missing', locator, eventId: row.eventId }]
  return FIELDS.flatMap((field): Difference[] => {
    if (stored[field] === row[field]) return []
    if (textFault !== null && (field === 'subject' || field === 'body')) return []
    return [{ kind: 'column', locator, column: toColumn(field), stored: stored[field], rebuilt: row[field] }]
  })
}

function toColumn(field: Field): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function checkDecision(
  locator: string,
  decision: ReplayedDecision,
  result: DecidedResult | undefined,
): Difference[] {
  if (result !== undefined && isSameResult(decision, result)) return []
  const right = result === undefined ? 'knows no such facts' : `decides ${words(result)}`
  const fault = `decided ${words(decision)}, but the rule table then in force ${right}`
  return [{ kind: 'decision', locator, attempt: decision.attempt, fault }]
}

function isSameResult(decision: ReplayedDecision, result: RecordedResult): boolean {
  return (
    decision.outcome === result.outcome &&
    decision.channel === result.channel &&
    decision.ruleId === result.ruleId &&
    hasSameReason(decision, result)
  )
}

function words(result: RecordedResult): string {
  return `${describeResult(result)} by rule "${result.ruleId}"`
}

function hasSameReason(decision: ReplayedDecision, result: RecordedResult): boolean {
  const { outcome, reason, partyLocator } = decision
  // The reason for an invalid locator comes from no rule.
  if (outcome === 'SKIP' && partyLocator === null && INVALID_LOCATOR in readStated(decision))
    return reason !== null
  // The error of the look-up is recorded in the reason only.
  return outcome === 'FAIL' ? beginsWithReason(reason, result.reason) : reason === result.reason
}
