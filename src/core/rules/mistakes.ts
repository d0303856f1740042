import { CHANNELS } from '../decision/channel.ts'
import type { Facts } from '../decision/facts.ts'
import { OUTCOMES } from '../decision/outcome.ts'
import { checkPromises } from './check-promises.ts'
import { decidedAlike } from './diff.ts'
import { foldEventTypes } from './event-classes.ts'
import { cellsOf } from './event-type-cell.ts'
import { findFaults } from './find-faults.ts'
import { loadPromises } from './load-promises.ts'
import { firstMismatch } from './mismatch.ts'
import { type Rule, resultOf } from './rule.ts'
import { SITUATIONS } from './situations.ts'

/** One slip that somebody could make in a rule table, and the rules that it leaves. */
export interface Mistake {
  /** Such as `rule "no-phone" (row 7) is removed`. */
  readonly words: string
  readonly rules: readonly Rule[]
}

export interface MistakeReport {
  /** Those that give a valid table which decides some situation otherwise. */
  readonly possibleCount: number
  /** Those of them that break no promise. */
  readonly unnoticed: readonly Mistake[]
}

/**
 * Which mistakes in the rules no promise would notice. A mistake that the table's own checks refuse, or that changes
 * nothing, does not count. Throws PromisesError.
 */
export function findUnnoticedMistakes(
  rules: readonly Rule[],
  promisesText: string,
  knownEventTypes: readonly string[] = [],
): MistakeReport {
  const possible = possibleMistakes(rules).filter(
    (mistake) => isValid(mistake.rules) && decidesOtherwise(rules, mistake.rules),
  )
  return {
    possibleCount: possible.length,
    unnoticed: possible.filter((mistake) => keepsPromises(mistake.rules, promisesText, knownEventTypes)),
  }
}

/** For each rule: removed, another outcome, another channel, moved up or down by one, its event type left out. */
export function possibleMistakes(rules: readonly Rule[]): Mistake[] {
  return rules.flatMap((rule, index) => {
    const name = `rule "${rule.id}" (row ${rule.row})`
    const changed = (change: Partial<Rule>, words: string) => ({
      words: `${name} ${words}`,
      rules: rules.with(index, { ...rule, ...change }),
    })
    const below = rules[index + 1]
    return [
      { words: `${name} is removed`, rules: rules.toSpliced(index, 1) },
      ...OUTCOMES.filter((outcome) => outcome !== rule.outcome).map((outcome) =>
        changed(
          { outcome, sendBy: null, reason: outcome === 'SEND' ? null : 'a mistake' },
          `is a ${outcome}, not a ${rule.outcome}`,
        ),
      ),
      ...(rule.outcome === 'SEND' ? CHANNELS : [])
        .filter((channel) => channel !== rule.sendBy)
        .map((sendBy) =>
          changed({ sendBy }, `sends by ${sendBy}, not by ${rule.sendBy ?? 'the preferred channel'}`),
        ),
      ...(below === undefined
        ? []
        : [
            {
              words: `${name} stands below rule "${below.id}", not above it`,
              rules: rules.toSpliced(index, 2, below, rule),
            },
          ]),
      ...(rule.when.eventType === null
        ? []
        : [changed({ when: { ...rule.when, eventType: null } }, 'is for any event type')]),
    ]
  })
}

/** The rule that decides. What the engine finds, without the engine. */
function firstMatch(rules: readonly Rule[]): (facts: Facts) => Rule | null {
  return (facts) => rules.find((rule) => firstMismatch(rule, facts) === null) ?? null
}

function isValid(rules: readonly Rule[]): boolean {
  const classes = classesOf(rules)
  const ruleFor = firstMatch(rules)
  const answers = classes.flatMap((eventClass) =>
    SITUATIONS.map((situation) => ({
      eventClass,
      situation,
      rule: ruleFor({ eventType: eventClass.representative, ...situation }),
    })),
  )
  return findFaults({ rules, classes, answers }).length === 0
}

function decidesOtherwise(before: readonly Rule[], after: readonly Rule[]): boolean {
  const ruleBefore = firstMatch(before)
  const ruleAfter = firstMatch(after)
  return classesOf([...before, ...after]).some(({ representative }) =>
    SITUATIONS.some((situation) => {
      const facts = { eventType: representative, ...situation }
      const [one, other] = [ruleBefore(facts), ruleAfter(facts)]
      if (one === null || other === null) return one !== other
      return !decidedAlike(resultOf(one, situation), resultOf(other, situation))
    }),
  )
}

function keepsPromises(
  rules: readonly Rule[],
  promisesText: string,
  knownEventTypes: readonly string[],
): boolean {
  // Read anew: which types "any other" stands for depends on the rules.
  const promises = loadPromises(promisesText, rules, knownEventTypes)
  return checkPromises(promises, rules, firstMatch(rules)).faults.length === 0
}

function classesOf(rules: readonly Rule[]) {
  return foldEventTypes(cellsOf(rules), []).classes
}
