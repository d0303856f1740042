/** A fault of the database that whoever runs a command can mend; its message says how. */
export class UnusableDatabaseError extends Error {}
