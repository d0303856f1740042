import type { Level, LogFn, Logger } from 'pino'
import { readCode } from '../text/error-codes.ts'

/** Interval in which equal lines (level, message and error code) are reduced to one. */
const INTERVAL_MS = 1_000
/** Longer messages are cut: a library may quote a caller's request. */
const MESSAGE_LENGTH_MAX = 1_000
/** Levels at which equal lines are merged. Lower ones are written line by line, such as audits'; so is `fatal`. */
const LIMITED: readonly Level[] = ['warn', 'error']

interface Line {
  readonly fields: object
  readonly message: string | undefined
  readonly values: unknown[]
}

interface Repetition {
  count: number
  /** Writes the last of the lines that were left out. */
  write: (() => void) | null
}

/**
 * Returns a hook of pino that writes the first line at once. Of the lines with the same level, message and error code in the next
 * second, it writes only the last, at the end of that second, with their number in `repeatedCount`.
 */
export function createRepeatLimit() {
  const recent = new Map<string, Repetition>()

  function endInterval(key: string, repeated: Repetition): void {
    const { write } = repeated
    if (write === null) {
      recent.delete(key)
      return
    }
    write()
    repeated.count = 0
    repeated.write = null
    startInterval(key, repeated)
  }

  function startInterval(key: string, repeated: Repetition): void {
    setTimeout(endInterval, INTERVAL_MS, key, repeated).unref()
  }

  return function logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const { fields, message, values } = readLine(args)
    const write = (repeatedCount: number) =>
      method.call(this, repeatedCount > 1 ? { ...fields, repeatedCount } : fields, message, ...values)
    if (!LIMITED.some((name) => this.levels.values[name] === level)) {
      write(1)
      return
    }
    const key = `${level} ${findCode(fields)} ${message}`
    const repeated = recent.get(key)
    if (repeated === undefined) {
      const first = { count: 0, write: null }
      recent.set(key, first)
      startInterval(key, first)
      write(1)
    } else {
      repeated.count++
      repeated.write = () => write(repeated.count)
    }
  }
}

/** Reads the arguments of pino's methods: fields, an error or nothing, then a message and the values that it names. */
function readLine([first, ...others]: readonly unknown[]): Line {
  const isText = typeof first === 'string'
  const fields = first instanceof Error ? { err: first } : isText ? {} : Object(first)
  const [text, ...values] = isText ? [first, ...others] : others
  const { err } = fields
  const message = text ?? (err instanceof Error ? err.message : undefined)
  return {
    fields,
    message: message === undefined ? undefined : String(message).slice(0, MESSAGE_LENGTH_MAX),
    values,
  }
}

function findCode({ err, error }: { err?: unknown; error?: unknown }): string {
  const found = err ?? error
  return found instanceof Error ? readCode(found) : ''
}
