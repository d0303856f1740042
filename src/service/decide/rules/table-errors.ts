import { type Fault, FaultsError } from '../../text/faults.ts'

/** Thrown by a cell's parser. The message names the fault and a valid value. */
export class CellFault extends Error {}

export class RuleTableError extends FaultsError {
  /** `name` is the table's name for people, such as its file. */
  constructor(faults: readonly Fault[], name = 'the rule table') {
    super(`${name} has`, faults)
  }
}

export class PromisesError extends FaultsError {
  constructor(faults: readonly Fault[]) {
    super('the promises have', faults)
  }
}
