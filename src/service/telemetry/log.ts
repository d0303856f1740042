import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { ADDRESSES } from '../decide/party/channel.ts'
import { boundFields } from './log-bounds.ts'
import { createRepeatLimit } from './log-repeats.ts'

/** Contact data and secrets that no caller should log; redacted in case one does. */
const CENSORED_KEYS = [...ADDRESSES, 'subject', 'body', 'password', 'authorization']
const CAUSES_MAX = 5
const TEXT_LENGTH_MAX = 4_000

/**
 * The service's log: one JSON object per line, with ISO time and the level as a word, by default to standard output. `level` is
 * one of pino's. Log errors as `{ err }`; connection strings in them are censored. Repeated warnings and errors are counted, and
 * long fields cut.
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      name: 'notifications-service',
      level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => boundFields(withTrace(fields)) },
      serializers: { err: serializeError, error: serializeError },
      redact: {
        paths: CENSORED_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]),
        censor: '[censored]',
      },
      // pino copies an error's message to `msg` without asking a serializer.
      hooks: {
        logMethod: createRepeatLimit(),
        streamWrite: (line) => onOneLine(withoutCredentials(line)),
      },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  )
}

/** Adds the trace to a line about an error that occurred in one. */
function withTrace(fields: Record<string, unknown>): Record<string, unknown> {
  const traceId = findTrace(fields.err)
  return traceId === undefined ? fields : { traceId, ...fields }
}

/**
 * The parts of an error that are safe to log. Others are left out, since drivers attach queries, rows and parameters to their
 * errors.
 */
function serializeError(error: unknown, causesLeft = CAUSES_MAX): unknown {
  if (!(error instanceof Error))
    return typeof error === 'object' ? '[object]' : withoutCredentials(String(error))
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  const inner = error instanceof AggregateError ? error.errors.slice(0, CAUSES_MAX) : []
  return {
    type: error.name,
    message: withoutCredentials(error.message.slice(0, TEXT_LENGTH_MAX)),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(error.stack === undefined
      ? {}
      : { stack: withoutCredentials(error.stack.slice(0, TEXT_LENGTH_MAX)) }),
    ...(cause === undefined || causesLeft === 0 ? {} : { cause: serializeError(cause, causesLeft - 1) }),
    ...(inner.length === 0 || causesLeft === 0
      ? {}
      : { errors: inner.map((nested) => serializeError(nested, causesLeft - 1)) }),
  }
}

/**
 * Characters that some readers, such as Node's `readline`, take for line ends. JSON need not escape them, and clients can send
 * them. Escaping keeps the JSON valid, since they occur only within its texts.
 */
function onOneLine(json: string): string {
  return json.replaceAll('\u0085', '\\u0085').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

/** Censors whole database URLs, the credentials of other URLs, and `password=…`. The JSON stays valid. */
function withoutCredentials(text: string): string {
  return text
    .replace(/\bpostgres(?:ql)?:\/\/[^\s"\\]+/gi, 'postgres://[censored]')
    .replace(/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s"\\]+@/gi, '$1[censored]@')
    .replace(/\b(password|passwd|pwd)=[^\s"\\&]+/gi, '$1=[censored]')
}

const traceIds = new WeakMap<Error, string>()

/** Remembers the trace in which an error occurred. */
export function markTrace(error: unknown, traceId: string): void {
  if (error instanceof Error) traceIds.set(error, traceId)
}

function findTrace(error: unknown): string | undefined {
  return error instanceof Error ? traceIds.get(error) : undefined
}
