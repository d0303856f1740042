import { cellText, FACT_LIST, type RecordedFacts } from '../decision/facts.ts'
import { nameOfChannel } from '../party/channel.ts'
import { matchesEventType } from './event-type-cell.ts'
import type { When } from './when.ts'

/** The first cell that does not match, such as `"opted out" must be yes, but is no`; null if all match. */
export function firstMismatch({ when }: { readonly when: When }, facts: RecordedFacts): string | null {
  const { eventType } = when
  if (eventType !== null && !matchesEventType(eventType, facts.eventType)) {
    return mismatch('event type', eventType.text, facts.eventType)
  }
  for (const [key, { column }] of FACT_LIST) {
    if (when[key] !== null && when[key] !== facts[key])
      return mismatch(column, describeValue(when[key]), describeValue(facts[key]))
  }
  return null
}

/** The rules above the deciding one, from top to bottom, each with its first cell that did not match. */
export function mismatchesAbove<
  R extends { readonly id: string; readonly when: When; readonly unread?: readonly string[] },
>(
  rules: readonly R[],
  index: number,
  facts: RecordedFacts,
): { readonly ruleId: string; readonly mismatch: string }[] {
  return rules.slice(0, index).map((above) => ({
    ruleId: above.id,
    mismatch: firstMismatch(above, facts) ?? unreadCells(above) ?? 'every cell matches',
  }))
}

function unreadCells({ unread = [] }: { readonly unread?: readonly string[] }): string | null {
  return unread.length === 0 ? null : `this version cannot read ${unread.join(', ')}`
}

function describeValue(value: unknown): string {
  return nameOfChannel(cellText(value))
}

function mismatch(column: string, cell: string, fact: string): string {
  return `"${column}" must be ${cell}, but is ${fact}`
}
