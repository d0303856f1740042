import { coversEventType, foldEventType } from '../decide/event/event-type-pattern.ts'
import type { RuleTable } from '../decide/rules/table.ts'
import type { DatabasePool } from '../store/connection/pool.ts'
import { findEventTypes } from '../store/read/event-types.ts'
import { TEMPLATE_EVENT_TYPES } from './rule-files.ts'

export type EventTypes = ReturnType<typeof createEventTypes>

/** The event types that a template or a rule names. */
export function listAuthored({ rules }: RuleTable): readonly string[] {
  return [...TEMPLATE_EVENT_TYPES, ...rules.flatMap(({ when }) => when.eventType?.names ?? [])]
}

/** The event types that are known to a template, a rule or the log. */
export function createEventTypes(ruleTable: RuleTable, listPool: () => DatabasePool) {
  const authored = listAuthored(ruleTable)
  const folded = new Set(authored.map(foldEventType))
  return {
    /** Event types that a template or a rule names. */
    authored,
    /** The given event types that no template, rule or log entry names. */
    listUnknown: async (eventTypes: readonly string[]): Promise<readonly string[]> => {
      const unnamed = eventTypes.filter((type) => !folded.has(foldEventType(type)))
      if (unnamed.length === 0) return []
      const logged = await findEventTypes(listPool(), [...unnamed, ...unnamed.map(foldEventType)])
      return unnamed.filter((type) => !coversEventType(logged, type))
    },
  }
}
