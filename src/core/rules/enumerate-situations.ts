import type { RecordedFacts, Situation } from '../decision/facts.ts'
import { compileRules } from './engine.ts'
import { type EventClass, foldEventTypes } from './event-classes.ts'
import { cellsOf, matchesEventType } from './event-type-cell.ts'
import type { Rule } from './rule.ts'
import { foldSituations } from './situations.ts'

/** The deciding rule for one situation of one event class; null if none applies. */
export interface Answer {
  readonly eventClass: EventClass
  readonly situation: Situation
  readonly rule: Rule | null
}

/** The rules and their answer to every situation, unchecked. */
export interface Enumeration {
  readonly rules: readonly Rule[]
  readonly classes: readonly EventClass[]
  readonly situations: readonly Situation[]
  /** By class, and within a class in the order of `situations`. */
  readonly answers: readonly Answer[]
  readonly positionOf: (facts: RecordedFacts) => number
}

/** Asks the rules engine once about every situation of every event class. */
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

/** A shortcut: the engine finds the same, but takes ten times as long if many rules name single event types. */
function looksAt({ when }: Rule, { representative }: EventClass): boolean {
  return when.eventType === null || matchesEventType(when.eventType, representative)
}
