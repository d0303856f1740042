import { CHANNELS, type Channel } from '../core/decision/channel.ts'
import { STATUSES, type Status } from '../core/log/status.ts'

/** Counts rows by a word (a rule, an event type), status and channel, without allocating for each row. */
export class Tally {
  readonly #counts = new Map<string, number[]>()

  add(word: string, status: Status, channel: Channel): void {
    let counts = this.#counts.get(word)
    if (counts === undefined) {
      counts = new Array<number>(STATUSES.length * CHANNELS.length).fill(0)
      this.#counts.set(word, counts)
    }
    const cell = STATUSES.indexOf(status) * CHANNELS.length + CHANNELS.indexOf(channel)
    counts[cell] = (counts[cell] ?? 0) + 1
  }

  /** Every combination that occurred. */
  *[Symbol.iterator](): Generator<{ word: string; status: Status; channel: Channel; count: number }> {
    for (const [word, counts] of this.#counts) {
      for (const [s, status] of STATUSES.entries()) {
        for (const [c, channel] of CHANNELS.entries()) {
          const count = counts[s * CHANNELS.length + c] ?? 0
          if (count > 0) yield { word, status, channel, count }
        }
      }
    }
  }
}
