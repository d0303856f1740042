import { counted } from './count.ts'

/** An error that whoever reads it can correct: a command prints its message alone. Any other is a bug, printed with its stack. */
export class CorrectableError extends Error {}

/** A file that cannot be used. Carries all its faults, so that they can be corrected at once. */
export class FaultsError extends CorrectableError {
  readonly faults: readonly string[]

  /** `start` begins the message, such as "the rule table has". */
  constructor(start: string, faults: readonly string[]) {
    super(`${start} ${listFaults(faults)}`)
    this.name = new.target.name
    this.faults = faults
  }
}

/** "1 fault:" or "30 faults:" and a line for each, with what belongs to it further indented. */
export function listFaults(faults: readonly string[]): string {
  const lines = faults.map((fault) => `  ${fault.replaceAll('\n', '\n  ')}`)
  return `${counted(faults.length, 'fault')}:\n${lines.join('\n')}`
}
