import { setTimeout as sleep } from 'node:timers/promises'

type Falsy = false | null | undefined | 0 | ''

/**
 * Polls `condition` until it returns something truthy, and hands that back. A condition that throws counts
 * as not yet true; its last error is the cause of the failure.
 * @param what completes the sentence "waited 60000 ms for …"
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { what, timeoutMs = 60_000, intervalMs = 50 }: { what: string; timeoutMs?: number; intervalMs?: number },
): Promise<Exclude<T, Falsy>> {
  const deadline = performance.now() + timeoutMs
  let cause: unknown
  while (performance.now() < deadline) {
    try {
      const value = await beforeDeadline(condition, deadline)
      if (isTruthy(value)) return value
      cause = undefined
    } catch (error) {
      cause = error
    }
    await sleep(intervalMs)
  }
  throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause })
}

function isTruthy<T>(value: T): value is Exclude<T, Falsy> {
  return Boolean(value)
}

/** A condition that hangs must not outlast the deadline. */
async function beforeDeadline<T>(condition: () => T | Promise<T>, deadline: number): Promise<T> {
  const timer = new AbortController()
  const expired = sleep(deadline - performance.now(), undefined, {
    signal: timer.signal,
  }).then(() => {
    throw new Error('the condition itself did not answer in time')
  })
  try {
    return await Promise.race([condition(), expired])
  } finally {
    timer.abort()
    expired.catch(() => {})
  }
}
