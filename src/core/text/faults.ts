import { counted } from './count.ts'

/** An error that its reader can correct: a command prints only the message. Any other error is a bug, printed with its stack. */
export class CorrectableError extends Error {}

/** The text of whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A file cannot be used. Contains all its faults, so that they can be corrected together. */
export class FaultsError extends CorrectableError {
  readonly faults: readonly string[]

  /** `start` is the beginning of the message, such as "the rule table has". */
  constructor(start: string, faults: readonly string[]) {
    super(`${start} ${listFaults(faults)}`)
    this.name = new.target.name
    this.faults = faults
  }
}

/** "1 fault:" or "30 faults:" and a line for each; further lines of a fault are indented more. */
export function listFaults(faults: readonly string[]): string {
  const lines = faults.map((fault) => `  ${fault.replaceAll('\n', '\n  ')}`)
  return `${counted(faults.length, 'fault')}:\n${lines.join('\n')}`
}
