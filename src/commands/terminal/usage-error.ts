import { CorrectableError } from '../../core/text/correctable-error.ts'

/** Wrong usage of a command. Only the message is printed, without a stack; exit code 2. */
export class UsageError extends CorrectableError {}
