/** Thrown by a cell's parser; the message says what is wrong with the cell and what would be right. */
export class CellFault extends Error {}

/** A rule table that is not fit to be served. Carries all its faults, each a sentence that names the row. */
export class RuleTableError extends Error {
  readonly faults: readonly string[]

  /** `name` is what people call this table, such as its file. */
  constructor(faults: readonly string[], name = 'the rule table') {
    super(`${name} has ${listFaults(faults)}`)
    this.name = 'RuleTableError'
    this.faults = faults
  }
}

/** Promises that cannot be read, or that the rule table breaks. Carries all faults. */
export class PromisesError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(`the promises have ${listFaults(faults)}`)
    this.name = 'PromisesError'
    this.faults = faults
  }
}

/** "1 fault:" or "30 faults:" and a line for each, with what belongs to it further indented. */
export function listFaults(faults: readonly string[]): string {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  return `${count}:\n${faults.map((fault) => `  ${fault.replaceAll('\n', '\n  ')}`).join('\n')}`
}
