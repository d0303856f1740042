import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { backOffMs } from '../core/time/back-off.ts'

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
      const retryInMs = backOffMs(failureCount)
      const reason = error instanceof Error ? error.message || error.name : String(error)
      log.warn({ reason, retryInMs }, `waiting for ${what}`)
      await sleep(retryInMs, undefined, { signal })
    }
  }
}
