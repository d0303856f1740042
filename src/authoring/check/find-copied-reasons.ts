import type { Rule } from '../../service/decide/rules/rule.ts'
import type { Fault } from '../../service/text/faults.ts'

const READ_OUT = 'members hear it when they ask why'

/**
 * Warnings about explanations that may be wrong: copied from a rule above, or unchanged although the rule's outcome or channel
 * differs from `before`, the rules before a change.
 */
export function findCopiedReasons(rules: readonly Rule[], before: readonly Rule[] = []): Fault[] {
  return rules.flatMap(({ id, row, because, outcome, sendBy }, index): Fault[] => {
    const above = rules.slice(0, index).find((other) => other.because === because)
    const was = before.find((other) => other.id === id)
    const isStale =
      was !== undefined && was.because === because && (was.outcome !== outcome || was.sendBy !== sendBy)
    const doubts = [
      above && `it is word for word that of rule "${above.id}" (row ${above.row})`,
      isStale && 'it stayed as it was, though what the rule does has changed',
    ].filter((doubt) => typeof doubt === 'string')
    return doubts.map((doubt) => ({ row, column: 'because', text: `${doubt}: ${READ_OUT}` }))
  })
}
