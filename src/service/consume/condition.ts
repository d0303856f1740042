/** Something that changes, and those who wait for it. They check first: a change for which nobody waits is forgotten. */
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
