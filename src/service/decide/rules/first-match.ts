import { Engine } from 'json-rules-engine'
import { FACT_LIST, type RuleFacts, type Situation } from '../decision/facts.ts'
import type { Channel } from '../party/channel.ts'
import { type EventClass, foldEventTypes } from './event-classes.ts'
import { eventTypeCells, matchesEventType } from './event-type-cell.ts'
import { findMissingAddress, listUnnamedChannels, type PastRule, type Rule } from './rule.ts'
import { foldSituations } from './situations.ts'

/** The deciding rule for one situation of one event class; null if none applies. */
export interface FirstMatch<R = Rule> {
  readonly eventClass: EventClass
  readonly situation: Situation
  readonly rule: R | null
}

/** The rules and their answer to every situation, unchecked. */
export interface Enumeration<R = Rule> {
  readonly rules: readonly R[]
  readonly classes: readonly EventClass[]
  readonly situations: readonly Situation[]
  /** Channels that no rule names. An answer for one of them may have no rule. */
  readonly unnamed: readonly Channel[]
  /** By class, and within a class in the order of `situations`. */
  readonly answers: readonly FirstMatch<R>[]
  readonly findPosition: (facts: RuleFacts) => number
}

/** Asks the rules engine once about every situation of every event class. */
export async function enumerate<R extends Rule | PastRule>(
  rules: readonly R[],
  knownEventTypes: readonly string[],
): Promise<Enumeration<R>> {
  const { classes, findClass } = foldEventTypes(eventTypeCells(rules), knownEventTypes)
  const { situations, findPosition } = foldSituations(rules)
  const unnamed = listUnnamedChannels(rules)
  const answers: FirstMatch<R>[] = []
  for (const eventClass of classes) {
    const firstMatch = compileRules(rules.filter((rule) => appliesToClass(rule, eventClass)))
    for (const situation of situations) {
      const rule = await firstMatch(situation)
      // A rule without a channel does not test the address that a later channel needs.
      const isMeant = !unnamed.includes(situation.preferredChannel) || rule?.sendBy
      const isUnreachable = rule !== null && !isMeant && findMissingAddress(rule, situation) !== null
      answers.push({ eventClass, situation, rule: isUnreachable ? null : rule })
    }
  }
  return {
    rules,
    classes,
    situations,
    unnamed,
    answers,
    findPosition: (facts) => findClass(facts.eventType) * situations.length + findPosition(facts),
  }
}

/** Rules are selected by event type first: with many rules for single types the engine would take ten times as long. */
function appliesToClass({ when }: Pick<Rule, 'when'>, { representative }: EventClass): boolean {
  return when.eventType === null || matchesEventType(when.eventType, representative)
}

/** The engine emits this name: a rule id could be `error` or `success`, which have a meaning to an emitter. */
const MATCHED = 'rule matched'

/**
 * Compiles rules to json-rules-engine: the first match wins. Do not call the returned function again before its promise has
 * settled: the engine keeps the state of a run on itself.
 */
function compileRules<R extends Pick<Rule, 'id' | 'when'>>(
  rules: readonly R[],
): (situation: Situation) => Promise<R | null> {
  const engine = new Engine()
  for (const [index, rule] of rules.entries()) {
    engine.addRule({
      name: rule.id,
      priority: rules.length - index,
      conditions: { all: engineConditions(rule) },
      event: { type: MATCHED, params: { index } },
    })
  }
  // stop() cannot stop rules of the same priority, so no two share one. Rules below the match need not run.
  engine.on('success', () => {
    engine.stop()
  })

  return async (situation) => {
    const { events } = await engine.run(situation)
    const index: number | undefined = events[0]?.params?.index
    return index === undefined ? null : (rules[index] as R)
  }
}

/** Conditions for the cells of facts that are not blank. The engine does not validate them. */
function engineConditions({ when }: Pick<Rule, 'when'>) {
  return FACT_LIST.map(([key]) => ({ fact: key, operator: 'equal', value: when[key] })).filter(
    ({ value }) => value !== null,
  )
}

export function toRuleFacts({
  eventClass,
  situation,
}: Pick<FirstMatch, 'eventClass' | 'situation'>): RuleFacts {
  return { eventType: eventClass.representative, ...situation }
}
