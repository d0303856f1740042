import { pino } from 'pino'

/** Buffer for a slow reader: about a minute of a busy service at level info. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024
/** Enough for any reader that is not stuck. */
const LAST_LINES_MS = 1_000
/** Far longer than a thread takes to write a line. */
const LINE_MS = 50

/** An output that never waits for the log's reader. Lines beyond 8 MB are dropped, and their number is logged once there is room. */
export function createLogOutput() {
  /** Time since which lines wait to be written; null if none waits. */
  let waitingSinceMs: number | null = null
  let isExiting = false
  const isUnread = () => waitingSinceMs !== null && performance.now() - waitingSinceMs > LAST_LINES_MS
  const stream = pino.destination({
    dest: 1,
    sync: false,
    maxLength: WAITING_BYTES_MAX,
    retryEAGAIN: () => !isExiting || !isUnread(),
  })
  let droppedCount = 0
  stream.on('drop', () => {
    droppedCount++
  })
  // An error, such as a full disk, must neither end the service nor delay its end.
  stream.on('error', () => {
    droppedCount++
    waitingSinceMs = Number.NEGATIVE_INFINITY
  })
  stream.on('drain', () => {
    waitingSinceMs = null
    if (droppedCount === 0) return
    const msg = 'log lines were dropped: nobody read the log in time'
    const line = {
      level: 'warn',
      time: new Date().toISOString(),
      name: 'notifications-service',
      droppedCount,
      msg,
    }
    droppedCount = 0
    write(`${JSON.stringify(line)}\n`)
  })
  function write(line: string): void {
    waitingSinceMs ??= performance.now()
    stream.write(line)
  }
  // At any end of the process pino would write the waiting lines, and wait for a reader without limit.
  process.prependListener('exit', () => {
    isExiting = true
    try {
      if (waitingSinceMs !== null && !isUnread()) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LINE_MS)
        stream.flushSync()
      }
    } catch {
      // The reader is stuck.
    }
    stream.destroy()
  })
  return {
    write,
    /** Ends the process once its lines are written, or after a second. */
    exit: async (code: number): Promise<never> => {
      const late = new Promise((resolve) => setTimeout(resolve, LAST_LINES_MS, 'late'))
      while (waitingSinceMs !== null) {
        const drained = new Promise<void>((resolve) => stream.once('drain', resolve))
        if ((await Promise.race([drained, late])) === 'late') break
      }
      process.exit(code)
    },
  }
}
