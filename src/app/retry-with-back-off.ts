import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 10_000

/**
 * Retries until it succeeds, with a pause that doubles up to 10 s, and logs what it waits for and why. Rejects only
 * when the signal is aborted.
 */
export async function retryWithBackOff<T>(
  what: string,
  log: Logger,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failureCount = 0; ; failureCount++) {
    signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      const retryInMs = Math.min(PAUSE_MIN_MS * 2 ** failureCount, PAUSE_MAX_MS)
      const reason = error instanceof Error ? error.message || error.name : String(error)
      log.warn({ reason, retryInMs }, `waiting for ${what}`)
      await sleep(retryInMs, undefined, { signal })
    }
  }
}
