/** A command was not told what it needs to know. Said in words, without a stack; exit code 2. */
export class UsageError extends Error {}
