import { findFaults } from './check.ts'
import { type Enumeration, enumerate } from './enumerate.ts'
import { PromisesError, RuleTableError } from './faults.ts'
import { keepPromises, type PromiseReport, percentage } from './keep-promises.ts'
import { loadRuleTable } from './load.ts'
import { loadPromises, type RulePromise } from './promises.ts'
import type { Rule } from './rule.ts'
import { SITUATIONS } from './situations.ts'
import { findUnknownEventTypes } from './warnings.ts'

/** All that there is to say of one file. `summary` is null where its faults leave nothing to sum up. */
export interface FileReview {
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
  readonly summary: string | null
}

/**
 * Reviews a rule table and its promises in one go: the faults of either file do not hide those of the other. Promises
 * are held against the rules as soon as both can be read, even where the rules leave gaps.
 */
export async function reviewRules(
  tableText: string,
  promisesText: string,
  knownEventTypes: readonly string[],
): Promise<{ readonly table: FileReview; readonly promises: FileReview }> {
  const { value: rules, faults: ruleFaults } = attempt(() => loadRuleTable(tableText).rules)
  const { value: promises, faults: promiseFaults } = attempt(() => loadPromises(promisesText, rules ?? []))
  if (rules === null) {
    return { table: faulty(ruleFaults), promises: faulty(promiseFaults) }
  }
  const enumeration = await enumerate(rules, knownEventTypes)
  return {
    table: reviewTable(enumeration, knownEventTypes),
    promises: promises === null ? faulty(promiseFaults) : reviewPromises(promises, enumeration),
  }
}

function reviewTable(enumeration: Enumeration, knownEventTypes: readonly string[]): FileReview {
  const { rules, classes } = enumeration
  const eventTypes =
    classes.length === 1 ? 'any event type' : `each of ${classes.length} classes of event types`
  return {
    faults: findFaults(enumeration),
    warnings: findUnknownEventTypes(rules, knownEventTypes),
    summary: `${rules.length} rules for the ${SITUATIONS.length} situations of ${eventTypes}`,
  }
}

function reviewPromises(
  promises: readonly RulePromise[],
  { rules, answers, positionOf }: Enumeration,
): FileReview {
  const ruleFor = (facts: Parameters<typeof positionOf>[0]) => answers[positionOf(facts)]?.rule ?? null
  const report = keepPromises(promises, rules, ruleFor)
  return {
    faults: report.faults,
    warnings: report.untouched.map(
      ({ id, row }) =>
        `no promise touches rule "${id}" (row ${row} of the rule table): add one that says what it is for`,
    ),
    summary: summarise(promises, rules, report),
  }
}

function summarise(
  promises: readonly RulePromise[],
  rules: readonly Rule[],
  { untouched, coveredCount, situationCount }: PromiseReport,
): string {
  const count = promises.length === 1 ? '1 promise' : `${promises.length} promises`
  const situations = `${coveredCount} of ${situationCount} situations (${percentage(coveredCount, situationCount)})`
  return `covered by ${count}: ${situations}, ${rules.length - untouched.length} of ${rules.length} rules`
}

function faulty(faults: readonly string[]): FileReview {
  return { faults, warnings: [], summary: null }
}

function attempt<T>(load: () => T): { readonly value: T | null; readonly faults: readonly string[] } {
  try {
    return { value: load(), faults: [] }
  } catch (error) {
    if (error instanceof RuleTableError || error instanceof PromisesError)
      return { value: null, faults: error.faults }
    throw error
  }
}
