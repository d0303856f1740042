/** Thrown by a cell's parser; the message says what is wrong with the cell and what would be right. */
export class CellFault extends Error {}

/** A rule table that is not fit to be served. Carries all its faults, each a sentence that names the row. */
export class RuleTableError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
    super(`the rule table has ${count}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
    this.name = 'RuleTableError'
    this.faults = faults
  }
}
