/** A fact that a message states, besides its event type. */
interface StatedFact {
  /** Column heading in the rule table and the promises. */
  readonly column: Lowercase<string>
  readonly values: readonly string[]
  /** Default for a message without one of `values` in this place. */
  readonly usual: string
  /** Default place in the envelope; `rules/envelope.json` may name another. */
  readonly place: string
}

/**
 * A fact is one entry here, such as `priority: { column: 'priority', values: ['urgent', 'normal'], usual: 'normal', place:
 * '/payload/priority' }`. A value that no version knows is never stored.
 */
export const STATED_FACTS = {} as const satisfies Readonly<Record<string, StatedFact>>
export type StatedKey = keyof typeof STATED_FACTS
export const STATED_FACT_LIST = Object.entries(STATED_FACTS) as unknown as readonly (readonly [
  StatedKey,
  StatedFact,
])[]

/** Recorded besides the facts, which rules may test: the event's party locator is invalid. Absent if it is not. */
export const INVALID_LOCATOR = 'invalidLocator'

/** The facts that an event states, as recorded with each decision. Another version may have recorded other facts and values. */
export type StatedFacts = Readonly<Record<string, unknown>>
