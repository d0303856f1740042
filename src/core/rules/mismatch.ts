import type { Facts } from '../decision/facts.ts'
import { matchesEventType } from './event-type-cell.ts'
import type { Column } from './rule.ts'
import type { When } from './when.ts'

/** The first cell of a row, from left to right, that keeps its rule from applying. */
export interface Mismatch {
  readonly column: Column
  /** In words, such as `"opted out" must be yes, but is no`. */
  readonly text: string
}

/** Why a rule (or a promise) does not apply: the first cell that does not match. Null where all do. */
export function firstMismatch({ when }: { readonly when: When }, facts: Facts): Mismatch | null {
  const { eventType } = when
  if (eventType !== null && !matchesEventType(eventType, facts.eventType)) {
    return mismatch('event type', eventType.text, facts.eventType)
  }
  if (differs(when.party, facts.party)) return mismatch('party', when.party, facts.party)
  if (differs(when.optedOut, facts.optedOut)) return mismatch('opted out', when.optedOut, facts.optedOut)
  if (differs(when.preferredChannel, facts.preferredChannel)) {
    return mismatch('preferred channel', when.preferredChannel, facts.preferredChannel)
  }
  if (differs(when.emailOnFile, facts.emailOnFile)) {
    return mismatch('email on file', when.emailOnFile, facts.emailOnFile)
  }
  if (differs(when.phoneOnFile, facts.phoneOnFile)) {
    return mismatch('phone on file', when.phoneOnFile, facts.phoneOnFile)
  }
  return null
}

/** The rules above the one that decided, from top to bottom, each with the first of its cells that did not match. */
export function mismatchesAbove<R extends { readonly id: string; readonly when: When }>(
  rules: readonly R[],
  index: number,
  facts: Facts,
): { readonly ruleId: string; readonly mismatch: string }[] {
  return rules.slice(0, index).map((above) => ({
    ruleId: above.id,
    mismatch: firstMismatch(above, facts)?.text ?? 'every cell matches',
  }))
}

function differs<T>(cell: T | null, fact: T | null): boolean {
  return cell !== null && cell !== fact
}

function mismatch(column: Column, cell: string | boolean | null, fact: string | boolean | null): Mismatch {
  return { column, text: `"${column}" must be ${words(cell)}, but is ${words(fact)}` }
}

function words(value: string | boolean | null): string {
  if (value === null) return 'unknown'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return value
}
