import pg from 'pg'
import { BackendTerminatedError, ConnectionError } from 'slonik'
import { CodedError } from '../../text/error-codes.ts'

/** The SQLSTATE behind an error of Slonik or of its driver, if PostgreSQL sent one. */
export function sqlState(error: unknown): string | undefined {
  return serverError(error)?.code
}

/** PostgreSQL's error. Node's own codes, such as EPIPE, can look like an SQLSTATE. */
function serverError(error: unknown): pg.DatabaseError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof pg.DatabaseError && /^[0-9A-Z]{5}$/.test(cause.code ?? '')) return cause
  return undefined
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

/**
 * SQLSTATEs that do not concern a row: connection (08), state of the transaction (25, 3B), rollback (40), resources (53), lock
 * (55P03), shutdown and cancellation (57), system (58), snapshot (72), configuration (F0), foreign server (HV), internal (XX).
 */
const NOT_OF_A_ROW = /^(08|25|3B|40|53|55P03|57|58|72|F0|HV|XX)/

/** A prepared statement or its portal is gone (26, 34) or exists already (42P05), or one of its types is unknown (42P18). */
const OF_A_PLAN = /^(26|34|42P05|42P18)/

/**
 * True if the error concerns a plan kept by the session, not a row: a table was altered, or a pooler gave the session to another
 * client. The failed connection is closed, and the next one has no plans. A changed result type shares the SQLSTATE of all
 * unsupported features; the name of the server's routine identifies it in any language.
 */
function answersPlan(error: unknown): boolean {
  const { code = '', routine } = serverError(error) ?? {}
  return OF_A_PLAN.test(code) || routine === 'RevalidateCachedQuery'
}

/** A trigger or a policy discarded a row without an error. */
export class RowDiscarded extends Error {
  constructor() {
    super('a trigger or policy of the database discards the row without an error')
  }
}

/**
 * True if the error may concern the row itself: a trigger may raise any SQLSTATE, so all others than those above count. If the
 * schema is at fault, a known-good row is refused as well.
 */
export function refusesData(error: unknown): boolean {
  if (error instanceof RowDiscarded) return true
  const state = sqlState(error)
  return state !== undefined && !NOT_OF_A_ROW.test(state) && !answersPlan(error)
}

/** True if the transaction was rolled back because of another one, and can be tried again: serialization failure, deadlock. */
export function isTransactionRollback(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

/** True if the work can be repeated at once in a new transaction, on another connection. */
export function isWorthRestart(error: unknown): boolean {
  return isTransactionRollback(error) || answersPlan(error)
}

/** True if a schema, table, index, column, constraint or function of this name exists. */
export function isDuplicate(error: unknown): boolean {
  return /^(42P0[67]|42701|42710|42723)$/.test(sqlState(error) ?? '')
}

/** True if another session did not release a lock within `lock_timeout`. */
export function isLocked(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/** Errors that only their message distinguishes: PgBouncer gives nearly all of its own the state 08P01. */
const WORDS = {
  STATEMENT_POOLING: /statement pooling/i,
  SILENT_SERVER: /^Query read timeout$/,
  TERMINATED: /connection terminated/i,
  NO_ENCRYPTION: /no encryption|SSL off|does not support SSL/i,
  NOT_IN_PG_HBA: /no pg_hba\.conf entry/,
  POOLER_CANNOT_LOG_IN: /server login has been failing/,
  '28P01': /no such user/,
  '3D000': /no such database/,
  '53300': /no more connections|query_wait_timeout/,
} as const satisfies Record<string, RegExp>

/** The kind of an error without an SQLSTATE of its own, or null. Our own errors have codes; their text may quote another error. */
export function classifyError(error: unknown): keyof typeof WORDS | null {
  if (!(error instanceof Error) || error instanceof CodedError) return null
  const found = Object.entries(WORDS).find(([, words]) => words.test(error.message))
  return (found?.[0] as keyof typeof WORDS | undefined) ?? null
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
export function errorCode(error: unknown): string {
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
