import { type Fault, FaultsError } from '../../text/faults.ts'

/** Thrown by a cell's parser. The message says what is wrong with the cell and what would be right. */
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
