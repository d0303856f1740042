import { setTimeout as sleep } from 'node:timers/promises'
import { ask, putPreferences } from '../stack/ask.ts'
import { createRandom } from '../stack/random.ts'
import { EVENT_TYPES, UNKNOWN_TYPES } from './load.ts'
import { fickleParties } from './parties.ts'
import { REFUSED_EVENT_TYPE } from './truth.ts'

/** A PUT of a party's preferences. Times are milliseconds since 1970. */
export interface Put {
  readonly party: string
  /** Counts the PUTs of all parties; stored with the preferences. */
  readonly number: number
  /** Of events of any type. */
  readonly optsOut: boolean
  readonly sentMs: number
  /** Null unless it was answered with 200: then it may take effect at any time, or never. */
  readonly answeredMs: number | null
}

/** An answered GET of a party's preferences. */
export interface Read {
  readonly party: string
  /** The number of the PUT that it shows; null before the first. */
  readonly number: number | null
  readonly sentMs: number
}

const PAUSE_MS_MIN = 100
const PAUSE_MS_SPAN = 1_500
const READ_PAUSE_MS = 100
/** A replica may be down or asleep. */
const ANSWER_MAX_MS = 4_000
const ALL_TYPES = [...EVENT_TYPES, ...UNKNOWN_TYPES, REFUSED_EVENT_TYPE]

/** Parties who opt out and in again all the time. The client of each waits for an answer, or gives up, before it asks again. */
export class Register {
  readonly puts: Put[] = []
  readonly reads: Read[] = []
  readonly #random: ReturnType<typeof createRandom>
  readonly #urls: () => readonly string[]
  #putCount = 0

  constructor(seed: number, urls: () => readonly string[]) {
    this.#random = createRandom(seed ^ 0x4e61)
    this.#urls = urls
  }

  /** Works until this is settled. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isOver = false
    const repeat = async (act: () => Promise<void>) => {
      while (!isOver) await act()
    }
    const running = [
      ...fickleParties().map((party) => repeat(() => this.#put(party))),
      repeat(() => this.#read()),
    ]
    try {
      return await work
    } finally {
      isOver = true
      await Promise.all(running)
    }
  }

  async #put(party: string): Promise<void> {
    const number = ++this.#putCount
    const optsOut = this.#random.below(2) === 0
    const sentMs = Date.now()
    const preferences = { phone: String(number), optedOutEvents: optsOut ? ALL_TYPES : [] }
    const isStored = await putPreferences(
      this.#anyUrl(),
      party,
      preferences,
      AbortSignal.timeout(ANSWER_MAX_MS),
    ).then(
      ({ status }) => status === 200,
      () => false,
    )
    this.puts.push({ party, number, optsOut, sentMs, answeredMs: isStored ? Date.now() : null })
    await sleep(PAUSE_MS_MIN + this.#random.below(PAUSE_MS_SPAN))
  }

  async #read(): Promise<void> {
    const party = this.#random.pick(fickleParties())
    const sentMs = Date.now()
    const signal = AbortSignal.timeout(ANSWER_MAX_MS)
    const answer = await ask(`${this.#anyUrl()}/preferences/${party}`, { signal }).catch(() => null)
    if (answer?.status === 200) this.reads.push({ party, number: Number(answer.body.phone), sentMs })
    if (answer?.status === 404) this.reads.push({ party, number: null, sentMs })
    await sleep(READ_PAUSE_MS)
  }

  #anyUrl(): string {
    const urls = this.#urls()
    return urls[this.#random.below(urls.length)] ?? ''
  }
}
