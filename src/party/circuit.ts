import type { Logger } from 'pino'
import type { Contact } from '../core/party/contact.ts'
import type { Answer } from './answer.ts'

const PARTY_COUNT_MIN = 20
const CONFIRM_MS = 1_000
const PROBE_INTERVAL_MS = 5_000

export interface CircuitNeeds {
  /** Asks for one party; told how many probes there were before it. */
  readonly probe: (earlierCount: number) => Promise<Answer>
  /** Called when look-ups may go on, or are answered without a request. */
  readonly onVerdict: () => void
  readonly nowMs: () => number
  readonly log: Logger
}

export type Circuit = ReturnType<typeof createCircuit>

/**
 * Opens where 20 parties failed and nobody was answered between, and then, a second later or more, a probe for a party that
 * was answered before fails too: however many parties one producer breaks, they open nothing while others are answered.
 * No look-up begins while it is suspect, so an outage burns few attempts. While it is open nobody pays for finding out
 * whether the outage is over: a probe every 5 s does, and the first good answer to one closes it.
 */
export function createCircuit({ probe, onVerdict, nowMs, log }: CircuitNeeds) {
  /** Distinct parties that failed since anybody was answered. */
  const failing = new Set<string>()
  let state: 'closed' | 'suspect' | 'open' = 'closed'
  let down: Contact | null = null
  let timer: NodeJS.Timeout | undefined
  let isOver = false

  async function decide(sinceMs: number, earlierCount: number): Promise<void> {
    const answer = await probe(earlierCount)
    if (isOver) return
    if (!answer.outage || (state === 'suspect' && failing.size === 0)) return close()
    if (nowMs() - sinceMs >= CONFIRM_MS) open(answer)
    const delayMs = state === 'open' ? PROBE_INTERVAL_MS : CONFIRM_MS
    timer = setTimeout(decide, delayMs, sinceMs, earlierCount + 1).unref()
  }

  function open({ contact }: Answer): void {
    const error = contact.state === 'unresolved' ? contact.error : 'unknown'
    if (down === null)
      log.warn({ error }, 'policy administration is down: no look-ups until a probe succeeds')
    else log.debug({ error }, 'policy administration is still down')
    down = {
      state: 'unresolved',
      error: `policy administration is down (circuit open: ${error})`,
      unasked: true,
    }
    state = 'open'
    onVerdict()
  }

  function close(): void {
    if (down !== null) log.info('policy administration is back: look-ups resume')
    down = null
    state = 'closed'
    failing.clear()
    onVerdict()
  }

  return {
    /** The contact of every party while policy administration is known to be down; else null. */
    down: () => down,
    /** True while a probe decides: no look-up is to begin. */
    isSuspect: () => state === 'suspect',
    /** Counts an answer for one party, or its absence. */
    note(locator: string, { outage }: Answer): void {
      // While it is open only a probe closes it: other answers are to what was asked before.
      if (state === 'open') return
      if (!outage) failing.clear()
      else if (failing.add(locator).size >= PARTY_COUNT_MIN && state === 'closed') {
        state = 'suspect'
        void decide(nowMs(), 0)
      }
    },
    stop(): void {
      isOver = true
      clearTimeout(timer)
    },
  }
}
