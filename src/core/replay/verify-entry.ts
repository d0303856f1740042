import { describeResult, INVALID_PARTY, type RuleResult } from '../decision/decide.ts'
import { PRUNED_RULE_ID } from '../decision/skip-pruned.ts'
import { type LogRow, logRow } from '../log/log-entry.ts'
import type { Difference } from './finding.ts'
import { type Decisions, type Rebuilt, type ReplayedDecision, rebuild } from './rebuild-entry.ts'

/** The data stored under a locator: a log row, decisions, or both. */
export interface Recorded {
  readonly locator: string
  readonly row: LogRow | null
  readonly decisions: readonly ReplayedDecision[]
}

export interface Archive {
  readonly templateOf: (revision: string) => string | undefined
  readonly tableOf: (revision: string) => Promise<Decider | string>
}
export interface Decider {
  readonly decide: (facts: ReplayedDecision['facts']) => RuleResult | undefined
}

export interface Verified {
  readonly differences: readonly Difference[]
  /** Reasons why something could not be verified. The same cause gives the same text for every entry. */
  readonly unverifiable: readonly string[]
}

type Field = Exclude<keyof LogRow, 'locator'>
const FIELDS = Object.keys(logRow.omit({ locator: true }).shape) as Field[]

/** Compares a row with the row rebuilt from its decisions, and each decision with the rule table then in force. */
export async function verify({ locator, row, decisions }: Recorded, archive: Archive): Promise<Verified> {
  if (!hasDecisions(decisions)) {
    const differences: Difference[] =
      row === null ? [] : [{ kind: 'unexplained', locator, eventId: row.eventId }]
    return { differences, unverifiable: [] }
  }
  const rebuilt = rebuild(locator, decisions, archive.templateOf)
  const differences = compare(locator, row, rebuilt)
  const unverifiable = rebuilt.textFault === null ? [] : [rebuilt.textFault]
  for (const decision of decisions) {
    const table = await archive.tableOf(decision.ruleTableRevision)
    if (typeof table === 'string') unverifiable.push(table)
    else differences.push(...checkDecision(locator, decision, table))
  }
  return { differences, unverifiable }
}

/** The row to insert for a locator that has decisions but no row; null if there is a row or it cannot be rebuilt. */
export function missingRow(
  { locator, row, decisions }: Recorded,
  { templateOf }: Pick<Archive, 'templateOf'>,
): LogRow | null {
  if (row !== null || !hasDecisions(decisions)) return null
  const rebuilt = rebuild(locator, decisions, templateOf)
  return rebuilt.textFault === null ? rebuilt.row : null
}

function hasDecisions(decisions: readonly ReplayedDecision[]): decisions is Decisions {
  return decisions.length > 0
}

function compare(locator: string, stored: LogRow | null, { row, textFault }: Rebuilt): Difference[] {
  if (stored === null) return [{ kind: 'missing', locator, eventId: row.eventId }]
  return FIELDS.flatMap((field): Difference[] => {
    if (stored[field] === row[field]) return []
    if (textFault !== null && (field === 'subject' || field === 'body')) return []
    return [{ kind: 'column', locator, column: columnOf(field), stored: stored[field], rebuilt: row[field] }]
  })
}

function columnOf(field: Field): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function checkDecision(locator: string, decision: ReplayedDecision, table: Decider): Difference[] {
  // No rule made this decision.
  if (decision.ruleId === PRUNED_RULE_ID) return []
  const result = table.decide(decision.facts)
  if (result !== undefined && isSame(decision, result)) return []
  const right = result === undefined ? 'knows no such facts' : `says ${words(result)}`
  const fault = `decided ${words(decision)}, but the rule table then in force ${right}`
  return [{ kind: 'decision', locator, attempt: decision.attempt, fault }]
}

function isSame(decision: ReplayedDecision, result: RuleResult): boolean {
  return (
    decision.outcome === result.outcome &&
    decision.channel === result.channel &&
    decision.ruleId === result.ruleId &&
    isReasonOf(decision, result)
  )
}

function words(result: RuleResult): string {
  return `${describeResult(result)} by rule "${result.ruleId}"`
}

function isReasonOf({ outcome, reason, partyLocator }: ReplayedDecision, result: RuleResult): boolean {
  if (reason === result.reason) return true
  if (outcome === 'FAIL') return reason?.startsWith(`${result.reason}: `) ?? false
  return outcome === 'SKIP' && reason === INVALID_PARTY && partyLocator === null
}
