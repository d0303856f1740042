import { counted } from './count.ts'

/** An error that its reader can correct: a command prints only the message. Any other error is a bug, printed with its stack. */
export class CorrectableError extends Error {}

/** The text of whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A fault of a file, or a warning about it. */
export interface Fault {
  /** Line of the file, counted from 1; null if no single line is at fault. */
  readonly row: number | null
  /** Null if no single column is at fault. */
  readonly column: string | null
  /** Without the place. */
  readonly text: string
  /** Details below the text, one on each line. */
  readonly lines?: readonly string[]
}

/** A fault that has no place in its file. */
export function wholeFault(text: string): Fault {
  return { row: null, column: null, text }
}

/** Example: `row 3, column "party": …`; each further line is indented. */
export function describeFault({ row, column, text, lines = [] }: Fault): string {
  const place = [...(row === null ? [] : [`row ${row}`]), ...(column === null ? [] : [`column "${column}"`])]
  return [[...(place.length === 0 ? [] : [place.join(', ')]), text].join(': '), ...lines].join('\n  ')
}

/** A file cannot be used. Contains all its faults, so that they can be corrected together. */
export class FaultsError extends CorrectableError {
  readonly faults: readonly Fault[]

  /** `start` is the beginning of the message, such as "the rule table has". */
  constructor(start: string, faults: readonly Fault[]) {
    super(`${start} ${listFaults(faults.map(describeFault))}`)
    this.name = new.target.name
    this.faults = faults
  }
}

/** "1 fault:" or "30 faults:" and a line for each; further lines of a fault are indented more. */
export function listFaults(faults: readonly string[]): string {
  const lines = faults.map((fault) => `  ${fault.replaceAll('\n', '\n  ')}`)
  return `${counted(faults.length, 'fault')}:\n${lines.join('\n')}`
}
