import type { RecordedFacts, Situation } from '../decision/facts.ts'
import { compileRules } from './engine.ts'
import { type EventClass, foldEventTypes } from './event-classes.ts'
import { cellsOf, matchesEventType } from './event-type-cell.ts'
import type { Rule } from './rule.ts'
import { foldSituations } from './situations.ts'

/** The deciding rule for one situation of one class of event types; null if none applies. */
export interface Answer {
  readonly eventClass: EventClass
  readonly situation: Situation
  readonly rule: Rule | null
}

/** Rules and what they say of all that can be the case. Nothing of it is checked. */
export interface Enumeration {
  readonly rules: readonly Rule[]
  readonly classes: readonly EventClass[]
  readonly situations: readonly Situation[]
  /** By class, and within it in the order of `situations`. */
  readonly answers: readonly Answer[]
  readonly positionOf: (facts: RecordedFacts) => number
}

/** Asks the rules engine of every situation of every class of event types, once. */
export async function enumerate(
  rules: readonly Rule[],
  knownEventTypes: readonly string[],
): Promise<Enumeration> {
  const { classes, classOf } = foldEventTypes(cellsOf(rules), knownEventTypes)
  const { situations, positionOf } = foldSituations(rules)
  const answers: Answer[] = []
  for (const eventClass of classes) {
    const firstMatch = compileRules(rules.filter((rule) => looksAt(rule, eventClass)))
    for (const situation of situations) {
      const rule = await firstMatch({ eventType: eventClass.representative, ...situation })
      answers.push({ eventClass, situation, rule })
    }
  }
  return {
    rules,
    classes,
    situations,
    answers,
    positionOf: (facts) => classOf(facts.eventType) * situations.length + positionOf(facts),
  }
}

/** The engine would find the same, but takes ten times as long where many rules name single event types. */
function looksAt({ when }: Rule, { representative }: EventClass): boolean {
  return when.eventType === null || matchesEventType(when.eventType, representative)
}
