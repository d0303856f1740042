import { setImmediate as drained } from 'node:timers/promises'
import type { Random } from '../../../stack/random.ts'

/**
 * Runs asynchronous work one step at a time: whoever calls `step` waits until the seed picks it. Its clock counts the steps.
 */
export class Scheduler {
  readonly #random: Random
  readonly #waiting: { readonly resume: () => void; readonly dueAt: number }[] = []
  now = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** @param pause for at least so many steps, unless nothing else can go on */
  step(pause = 0): Promise<void> {
    return new Promise((resume) => this.#waiting.push({ resume, dueAt: this.now + pause }))
  }

  get waitingCount(): number {
    return this.#waiting.length
  }

  /** Resolves once nothing waits for a step any more. */
  async run(stepCountMax: number): Promise<void> {
    for (;;) {
      await drained()
      if (this.#waiting.length === 0) return
      if (++this.now > stepCountMax) throw new Error(`still at work after ${stepCountMax} steps`)
      const runnable = this.#waiting.filter(({ dueAt }) => dueAt <= this.now)
      const among = runnable.length === 0 ? this.#waiting : runnable
      const chosen = among[this.#random.below(among.length)]
      if (chosen === undefined) return
      this.#waiting.splice(this.#waiting.indexOf(chosen), 1)
      chosen.resume()
    }
  }
}
