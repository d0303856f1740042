import { BackendTerminatedError, ConnectionError } from 'slonik'

/** The SQLSTATE behind an error of Slonik or of its driver, if PostgreSQL sent one. */
export function sqlState(error: unknown): string | undefined {
  return codeIn(error, /^[0-9A-Z]{5}$/)
}

export function lacksSchema(error: unknown): boolean {
  return /^(42P01|42703|3F000)$/.test(sqlState(error) ?? '')
}

export function lacksRight(error: unknown): boolean {
  return sqlState(error) === '42501'
}

/** True if the database answers, but takes no writes, grants no access or is not migrated, which `readyz` and `doctor` report. */
export function isUnusable(error: unknown): boolean {
  return sqlState(error) === '25006' || lacksRight(error) || lacksSchema(error)
}

/** True if the row itself is refused: data exception (22), integrity constraint (23), program limit exceeded (54). */
export function refusesData(error: unknown): boolean {
  return /^(22|23|54)/.test(sqlState(error) ?? '')
}

/** True if the transaction lost against another one and can be tried again: serialization failure, deadlock. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

/** True if another session did not release a lock within `lock_timeout`. */
export function isLocked(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/** PostgreSQL's own message, even if Slonik wrapped it. Never its detail, which quotes the row. */
export function databaseMessage(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
}

/** True if the database cannot be reached, is starting or stopping, is full or too busy: the request is not at fault. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof BackendTerminatedError) return true
  // Connection exceptions, insufficient resources, operator intervention; a lock timeout.
  return /^(08|53|57|55P03)/.test(sqlState(error) ?? '') || systemCode(error) !== undefined
}

/** The SQLSTATE, the code of system or TLS, such as ECONNREFUSED or CERT_HAS_EXPIRED, or the name of the error. */
export function codeOf(error: unknown): string {
  return (
    sqlState(error) ?? codeIn(error, /^[A-Z][A-Z_]+$/) ?? (error instanceof Error ? error.name : typeof error)
  )
}

function systemCode(error: unknown): string | undefined {
  return codeIn(error, /^E[A-Z]+$/)
}

/** The first code of this form, in the error or its causes. */
function codeIn(error: unknown, form: RegExp): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { readonly code?: unknown }
    if (typeof code === 'string' && form.test(code)) return code
  }
  return undefined
}
