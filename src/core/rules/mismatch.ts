import { cellText, FACT_LIST, type RecordedFacts } from '../decision/facts.ts'
import { matchesEventType } from './event-type-cell.ts'
import type { When, WhenColumn } from './when.ts'

/** The first cell of a row, from left to right, that keeps its rule from applying. */
export interface Mismatch {
  readonly column: WhenColumn
  /** In words, such as `"opted out" must be yes, but is no`. */
  readonly text: string
}

/** Why a rule (or a promise) does not apply: the first cell that does not match. Null where all do. */
export function firstMismatch({ when }: { readonly when: When }, facts: RecordedFacts): Mismatch | null {
  const { eventType } = when
  if (eventType !== null && !matchesEventType(eventType, facts.eventType)) {
    return mismatch('event type', eventType.text, facts.eventType)
  }
  for (const [key, { column }] of FACT_LIST) {
    if (when[key] !== null && when[key] !== facts[key])
      return mismatch(column, cellText(when[key]), cellText(facts[key]))
  }
  return null
}

/** The rules above the one that decided, from top to bottom, each with the first of its cells that did not match. */
export function mismatchesAbove<R extends { readonly id: string; readonly when: When }>(
  rules: readonly R[],
  index: number,
  facts: RecordedFacts,
): { readonly ruleId: string; readonly mismatch: string }[] {
  return rules.slice(0, index).map((above) => ({
    ruleId: above.id,
    mismatch: firstMismatch(above, facts)?.text ?? 'every cell matches',
  }))
}

function mismatch(column: WhenColumn, cell: string, fact: string): Mismatch {
  return { column, text: `"${column}" must be ${cell}, but is ${fact}` }
}
