import { type Enumeration, enumerate } from '../../service/decide/rules/first-match.ts'
import {
  covers,
  findWrongSend,
  keepsPromise,
  listCases,
  warnOfChannels,
} from '../../service/decide/rules/judge-rules.ts'
import { listNaming, loadPromises, type RulePromise } from '../../service/decide/rules/load-promises.ts'
import { loadRuleTable, readEventTypes } from '../../service/decide/rules/load-table.ts'
import type { Rule } from '../../service/decide/rules/rule.ts'
import { PromisesError, RuleTableError } from '../../service/decide/rules/table-errors.ts'
import {
  type EventTypesThatCame,
  findUnknownEventTypes,
} from '../../service/decide/rules/unknown-event-types.ts'
import { counted } from '../../service/text/count.ts'
import type { Fault } from '../../service/text/faults.ts'
import { checkPromises, type PromiseFault } from './check-promises.ts'
import { findCopiedReasons } from './find-copied-reasons.ts'
import { findFaults } from './find-faults.ts'
import { createRemedies, type FindWrong } from './find-remedy.ts'
import { findShorter, type Shorter } from './find-shorter.ts'
import { findShortReach } from './reach.ts'

/** Review of one file. `summary` is null if its faults prevent one. */
export interface FileReport<F extends Fault = Fault> {
  readonly faults: readonly F[]
  readonly warnings: readonly Fault[]
  readonly summary: string | null
}

/** The rule files that a change is compared with. */
export interface Against extends EventTypesThatCame {
  /** The rules that it changes. */
  readonly rules?: readonly Rule[]
}

/** Reviews a rule table and its promises together, so that faults of one file do not hide those of the other. */
export async function checkRuleFiles(
  tableText: string,
  promisesText: string,
  knownEventTypes: readonly string[],
  against: Against = {},
): Promise<{
  readonly table: FileReport
  readonly promises: FileReport<PromiseFault>
  /** None if there are faults. */
  readonly shorter: readonly Shorter[]
  /** None if they cannot be read. */
  readonly promised: readonly RulePromise[]
  /** Null if the rules cannot be read. */
  readonly enumeration: Enumeration | null
}> {
  const { value: rules, faults: ruleFaults } = tryLoading(() => loadRuleTable(tableText, knownEventTypes))
  const { value: promises, faults: promiseFaults } = tryLoading(() =>
    loadPromises(promisesText, rules ?? [], knownEventTypes),
  )
  if (rules === null) {
    const readable = readEventTypes(tableText, knownEventTypes)
    const unknown = findUnknownEventTypes(readable, knownEventTypes, against)
    return {
      table: { ...faulty([...ruleFaults, ...unknown.faults]), warnings: unknown.warnings },
      promises: faulty(promiseFaults),
      shorter: [],
      promised: [],
      enumeration: null,
    }
  }
  const enumeration = await enumerate(rules, knownEventTypes)
  const cases = promises === null ? enumeration.answers : listCases(promises, enumeration)
  // One change mends all faults of a rule, in both files.
  const findWrong: FindWrong = (rule, answer) => {
    const wrong = findWrongSend(rule, answer)
    const isBroken = promises?.some(
      (promise) => covers(promise, answer) && !keepsPromise(promise, rule, answer.situation),
    )
    return wrong === null && isBroken ? { cell: null } : wrong
  }
  const findRemedy = createRemedies(rules, cases, findWrong)
  const table = reportTable(enumeration, findRemedy, findWrong, knownEventTypes, against)
  return {
    table,
    shorter: table.faults.length === 0 ? findShorter(enumeration) : [],
    promises:
      promises === null
        ? faulty(promiseFaults)
        : reportPromises(promises, checkPromises(promises, cases, findRemedy), knownEventTypes, against),
    promised: promises ?? [],
    enumeration,
  }
}

function reportTable(
  enumeration: Enumeration,
  findRemedy: (rule: Rule) => string | null,
  findWrong: FindWrong,
  knownEventTypes: readonly string[],
  against: Against,
): FileReport {
  const { rules, classes, situations, answers } = enumeration
  const { rules: rulesBefore } = against
  const unknown = findUnknownEventTypes(rules, knownEventTypes, against)
  const eventTypes =
    classes.length === 1 ? 'any event type' : `each of ${classes.length} classes of event types`
  return {
    faults: [...findFaults(enumeration, findRemedy, findWrong), ...unknown.faults],
    warnings: [
      ...warnOfChannels(enumeration),
      ...unknown.warnings,
      ...(rulesBefore ? findShortReach(rules, answers, rulesBefore, findWrong) : []),
      ...findCopiedReasons(rules, rulesBefore),
    ],
    summary: `${rules.length} rules for the ${situations.length} situations of ${eventTypes}`,
  }
}

function reportPromises(
  promises: readonly RulePromise[],
  broken: readonly PromiseFault[],
  knownEventTypes: readonly string[],
  against: Against,
): FileReport<PromiseFault> {
  const unknown = findUnknownEventTypes(listNaming(promises), knownEventTypes, against)
  return {
    faults: [...broken, ...unknown.faults],
    warnings: unknown.warnings,
    summary: `${counted(promises.length, 'promise')}${broken.length === 0 ? ', all kept' : ''}`,
  }
}

function faulty(faults: readonly Fault[]): FileReport {
  return { faults, warnings: [], summary: null }
}

function tryLoading<T>(load: () => T): { readonly value: T | null; readonly faults: readonly Fault[] } {
  try {
    return { value: load(), faults: [] }
  } catch (error) {
    if (error instanceof RuleTableError || error instanceof PromisesError)
      return { value: null, faults: error.faults }
    throw error
  }
}
