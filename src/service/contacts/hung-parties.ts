/** Covers two passes of the retry, which asks for these parties separately. The third pass gives them the whole deadline again. */
const HUNG_MS = 170_000
const HUNG_COUNT_MAX = 10_000

/** Remembers the parties that timed out recently. */
export class HungParties {
  readonly #untilMs = new Map<string, number>()

  has(locator: string): boolean {
    return (this.#untilMs.get(locator) ?? 0) > performance.now()
  }

  add(locator: string): void {
    if (this.#untilMs.size >= HUNG_COUNT_MAX) this.#untilMs.clear()
    this.#untilMs.set(locator, performance.now() + HUNG_MS)
  }

  delete(locator: string): void {
    this.#untilMs.delete(locator)
  }
}
