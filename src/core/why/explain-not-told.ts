import type { ExplainedNotTold, NotTold } from '../log/not-told.ts'
import type { RulesByRevision } from './archived-rules.ts'

/** The rule tables that decided entries. */
export function revisionsOf(items: readonly NotTold[]): { readonly ruleTableRevision: string }[] {
  return items.flatMap(({ ruleTableRevision }) => (ruleTableRevision === null ? [] : [{ ruleTableRevision }]))
}

/** Adds to entries what their rules say for people; `rulesOf` holds the rules of all their revisions. */
export function explainNotTold(items: readonly NotTold[], rulesOf: RulesByRevision): ExplainedNotTold[] {
  return items.map((item) => {
    const rules = item.ruleTableRevision === null ? undefined : rulesOf.get(item.ruleTableRevision)
    const rule = typeof rules === 'object' ? rules.find(({ id }) => id === item.ruleId) : undefined
    return { ...item, because: rule?.because ?? null }
  })
}
