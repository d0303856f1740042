import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until the promise is settled, but not longer than `timeoutMs`; never rejects. */
export async function settled(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  await Promise.race([promise.catch(() => {}), sleep(timeoutMs, undefined, { ref: false })])
}
