import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'
import { createRandom } from '../stack/random.ts'
import { forgottenParties } from './parties.ts'

/** Times are milliseconds since 1970. */
export interface Erasure {
  readonly party: string
  readonly startedMs: number
  /** Null if the command did not succeed. */
  readonly endedMs: number | null
}

const START_MS_MAX = 10_000
const COMMAND_MS_MAX = 30_000
const TRY_COUNT_MAX = 5
const TRY_PAUSE_MS = 1_000
const AS_CHAOS = ['--yes', '--by', 'chaos']

/** Operators who run commands while everything fails. */
export class People {
  readonly erasures: Erasure[] = []
  readonly #random: ReturnType<typeof createRandom>
  readonly #databaseUrl: string

  constructor(seed: number, databaseUrl: string) {
    this.#random = createRandom(seed ^ 0x9e0b)
    this.#databaseUrl = databaseUrl
  }

  /** Once a cycle. */
  async act(): Promise<void> {
    await Promise.all([this.#erase(), this.#askForRetries()])
  }

  async #erase(): Promise<void> {
    const party = this.#random.pick(forgottenParties())
    await sleep(this.#random.below(START_MS_MAX))
    const startedMs = Date.now()
    let isDone = false
    for (let count = 0; count < TRY_COUNT_MAX && !isDone; count++) {
      if (count > 0) await sleep(TRY_PAUSE_MS)
      isDone = await this.#succeeds('erase', '--party', party, ...AS_CHAOS)
    }
    this.erasures.push({ party, startedMs, endedMs: isDone ? Date.now() : null })
  }

  /** Of all who had opted out: whoever has opted in since is told after all. */
  async #askForRetries(): Promise<void> {
    await sleep(this.#random.below(START_MS_MAX))
    await this.#succeeds('retry', '--since', '1h', '--rule', 'opted-out', '--because', 'chaos', ...AS_CHAOS)
  }

  #succeeds(...args: readonly string[]): Promise<boolean> {
    const env = { ...EXECUTABLE_ENV, DATABASE_URL: this.#databaseUrl }
    return promisify(execFile)(MAIN, args, { env, timeout: COMMAND_MS_MAX, killSignal: 'SIGKILL' }).then(
      () => true,
      () => false,
    )
  }
}
