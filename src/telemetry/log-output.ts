import { pino } from 'pino'

/** Lines that wait for a slow reader; about a minute of a busy service at level info. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024
/** Enough for a reader that reads at all. */
const LAST_LINES_MS = 1_000
/** Far longer than another thread takes to write a line. */
const LINE_MS = 50

/**
 * The output of a service that must not wait for the reader of its log. Lines beyond 8 MB are dropped, and their number is logged
 * once there is room.
 */
export function createLogOutput() {
  const stream = pino.destination({ dest: 1, sync: false, maxLength: WAITING_BYTES_MAX })
  /** Since when lines wait to be written; null while none does. */
  let waitingSinceMs: number | null = null
  let droppedCount = 0
  // An error, such as that of a full disk, must not end the service either.
  for (const event of ['drop', 'error'])
    stream.on(event, () => {
      droppedCount++
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
  /** Gives up the waiting lines: the end of the process would write them, and so wait for the reader. */
  const abandon = () => stream.destroy()
  return {
    write,
    /** Ends the process once its lines are written, or after a second. */
    exit: async (code: number): Promise<never> => {
      const late = new Promise((resolve) => setTimeout(resolve, LAST_LINES_MS, 'late'))
      while (waitingSinceMs !== null) {
        const drained = new Promise<void>((resolve) => stream.once('drain', resolve))
        if ((await Promise.race([drained, late])) === 'late') {
          abandon()
          break
        }
      }
      process.exit(code)
    },
    /** Ends the process before anything else runs. Waits for the line that is being written, unless nobody reads. */
    exitNow: (code: number): never => {
      if (waitingSinceMs !== null && performance.now() - waitingSinceMs > LAST_LINES_MS) abandon()
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LINE_MS)
      return process.exit(code)
    },
  }
}
