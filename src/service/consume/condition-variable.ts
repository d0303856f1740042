/** Wakes waiters on a change. Check before you wait: a change is not remembered. */
export class Condition {
  readonly #waiters = new Set<() => void>()

  /** Resolves at the next `notify`, or after `timeoutMs`. Keeps no process alive. */
  async wait(timeoutMs: number | null = null): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = timeoutMs === null ? undefined : setTimeout(resolve, timeoutMs).unref()
    this.#waiters.add(resolve)
    await promise
    this.#waiters.delete(resolve)
    clearTimeout(timer)
  }

  notify(): void {
    for (const resolve of this.#waiters) resolve()
  }
}
