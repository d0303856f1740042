import { pino } from 'pino'

/** Lines that wait for a slow reader; about a minute of a busy service at level info. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024
/** Enough for a reader that reads at all. */
const LAST_LINES_MS = 1_000

/**
 * The output of a service that must not wait for the reader of its log. Lines beyond 8 MB are dropped, and their number is logged
 * once there is room.
 */
export function createLogOutput() {
  const stream = pino.destination({ dest: 1, sync: false, maxLength: WAITING_BYTES_MAX })
  let isWaiting = false
  let droppedCount = 0
  stream.on('drop', () => {
    droppedCount++
  })
  stream.on('drain', () => {
    isWaiting = false
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
    isWaiting = true
    stream.write(line)
  }
  return {
    write,
    /** Ends the process once its lines are written, or after a second. */
    exit: async (code: number): Promise<never> => {
      if (isWaiting)
        await new Promise<void>((resolve) => {
          stream.once('drain', resolve)
          setTimeout(resolve, LAST_LINES_MS)
        })
      // Otherwise the end of the process would write the rest, and wait for the reader.
      if (isWaiting) stream.destroy()
      process.exit(code)
    },
  }
}
