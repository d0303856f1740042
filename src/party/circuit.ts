import { ConsecutiveBreaker, circuitBreaker, handleWhenResult } from 'cockatiel'
import type { Logger } from 'pino'
import type { Contact } from '../core/party/contact.ts'
import type { Answer } from './answer.ts'

const OUTAGE_COUNT_MAX = 20
const PROBE_INTERVAL_MS = 5_000

export interface Circuit {
  /** The contact of every party while policy administration is known to be down; else null. */
  down(): Contact | null
  /** To be called when requests are made, and only while it is not down: returns what counts their answers. */
  begin(): (answer: Answer) => void
  close(): void
}

/**
 * Opens after 20 outages in a row. From then on nobody's look-up pays for finding out whether it is over: one probe
 * at once, and another every 5 s, asks in the background, with traffic or without, and the first good answer closes
 * the circuit. `probe` is told how many there were before it since the circuit opened.
 */
export function createCircuit(probe: (earlierCount: number) => Promise<Answer>, log: Logger): Circuit {
  // Only the probe ever asks while it is open, so its own timer paces it. Whatever the wall clock says, however far it
  // was set back: it may.
  const breaker = circuitBreaker(
    handleWhenResult((answer) => (answer as Answer).outage === true),
    { breaker: new ConsecutiveBreaker(OUTAGE_COUNT_MAX), halfOpenAfter: -Infinity },
  )
  let down: Contact | null = null
  let openingCount = 0
  let hasOutages = false
  let probeCount = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false

  breaker.onBreak((cause) => {
    const error = errorOf(cause)
    if (down === null) {
      log.warn(
        { error, outageCount: OUTAGE_COUNT_MAX },
        'policy administration is down: no look-ups until a probe succeeds',
      )
      openingCount++
      probeCount = 0
      scheduleProbe(0)
    } else {
      log.debug({ error }, 'policy administration is still down')
    }
    down = {
      state: 'unresolved',
      error: `policy administration is down (circuit open: ${error})`,
      unasked: true,
    }
  })
  breaker.onReset(() => {
    down = null
    log.info('policy administration is back: look-ups resume')
  })

  function scheduleProbe(delayMs: number): void {
    if (!closed) timer = setTimeout(runProbe, delayMs).unref()
  }

  async function runProbe(): Promise<void> {
    await breaker.execute(() => probe(probeCount++))
    if (down !== null) scheduleProbe(PROBE_INTERVAL_MS)
  }

  function begin(): (answer: Answer) => void {
    const begunIn = openingCount
    return (answer) => {
      // An answer to what was asked before the circuit opened must not overrule the probe.
      if (answer.outage === null || begunIn !== openingCount) return
      // Almost every answer is good and ends no row of outages: the breaker would cost more than the look-up's own code.
      if (!answer.outage && !hasOutages) return
      hasOutages = answer.outage
      void breaker.execute(() => answer)
    }
  }

  return {
    down: () => down,
    begin,
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

function errorOf(cause: object): string {
  const answer = 'value' in cause ? (cause.value as Answer) : null
  return answer?.contact.state === 'unresolved' ? answer.contact.error : 'unknown'
}
