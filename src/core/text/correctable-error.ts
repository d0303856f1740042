/** An error that whoever reads it can correct: a command prints its message alone. Any other is a bug, printed with its stack. */
export class CorrectableError extends Error {}
