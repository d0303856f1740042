import { children } from '../processes.ts'
import { until } from '../until.ts'

const PARENT_CHECK_MS = 500

/**
 * Resolves at the first signal, or when whoever started this process is gone; a second signal ends it at once, and with
 * it what it started.
 */
export function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    const parent = process.ppid
    setInterval(() => process.ppid !== parent && resolve(), PARENT_CHECK_MS).unref()
    let isFirst = true
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (!isFirst) process.exit(1)
        isFirst = false
        resolve()
      })
    }
  })
}

/** Tells all children to go, those of a start half done included, and waits until none is left. */
export async function endChildren(timeoutMs: number): Promise<void> {
  const told = new Set<number>()
  const allGone = () => {
    const pids = children(process.pid)
    for (const pid of pids.filter((pid) => !told.has(pid))) {
      told.add(pid)
      process.kill(pid, 'SIGTERM')
    }
    return pids.length === 0
  }
  await until(allGone, { what: 'all that was started to end', timeoutMs })
}
