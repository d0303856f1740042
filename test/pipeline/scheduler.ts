import { setImmediate as drained } from 'node:timers/promises'

/** Numbers in [0, 1) by a seed (mulberry32). */
export function createRandom(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    below,
    chance: (probability: number) => next() < probability,
    pick: <Value>(values: readonly [Value, ...Value[]]): Value => values[below(values.length)] ?? values[0],
  }
}
export type Random = ReturnType<typeof createRandom>

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
