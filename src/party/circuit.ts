import { CircuitState, circuitBreaker, handleWhenResult } from 'cockatiel'
import type { Logger } from 'pino'
import type { Contact } from '../core/party/contact.ts'
import type { LookUpResult } from './answer.ts'

const PARTY_COUNT_MIN = 20
const CONFIRM_MS = 1_000
const PROBE_INTERVAL_MS = 5_000

/**
 * Opens when 20 distinct parties in a row have failed, and at once asks for a party that was answered before. If that fails too,
 * and again after a second, policy administration counts as down; a probe every 5 s finds out when it is back.
 */
export function createCircuit(
  ask: (locator: string) => Promise<LookUpResult>,
  onVerdict: () => void,
  log: Logger,
) {
  const failing = new Set<string>()
  const isBroken = () => failing.size >= PARTY_COUNT_MIN
  const breaker = { state: null, success: () => failing.clear(), failure: isBroken }
  // The timer decides when to probe: cockatiel compares wall-clock times, which can be set back.
  const isFailure = handleWhenResult((isOutage) => isOutage === true)
  const policy = circuitBreaker(isFailure, { breaker, halfOpenAfter: Number.NEGATIVE_INFINITY })
  let down: Contact | null = null
  let probeCount = 0
  let [answered, wanted] = ['', '']
  let timer: NodeJS.Timeout | undefined

  // Each failed probe opens it again.
  policy.onBreak(() => {
    const delayMs = probeCount === 0 ? 0 : down === null ? CONFIRM_MS : PROBE_INTERVAL_MS
    timer = setTimeout(() => void policy.execute(probe), delayMs).unref()
  })
  policy.onReset(() => {
    if (down !== null) log.info('policy administration is back: look-ups resume')
    down = null
    probeCount = 0
    onVerdict()
  })

  /** Resolves to false if policy administration works. Asks for two parties in turn: either may be broken for good. */
  async function probe(): Promise<boolean> {
    const { outage, contact } = await ask(probeCount++ % 2 === 0 ? answered || wanted : wanted)
    if (!outage || failing.size === 0) return false
    if (contact.state !== 'unresolved' || probeCount < 2) return true
    const { error } = contact
    if (down === null)
      log.warn({ error }, 'policy administration is down: no look-ups until a probe succeeds')
    down = { ...contact, error: `policy administration is down (circuit open: ${error})`, unasked: true }
    onVerdict()
    return true
  }

  return {
    /** The contact of every party while policy administration is known to be down; else null. */
    down: () => down,
    /** A probe is about to decide: no look-up may begin. */
    isUndecided: () => down === null && (isBroken() || policy.state !== CircuitState.Closed),
    note(locator: string, { outage, contact }: LookUpResult): void {
      // Only a probe closes it: other answers belong to earlier requests.
      if (down !== null) return
      if (contact.state !== 'unresolved') answered = locator
      if (outage) failing.add(locator)
      else failing.clear()
      if (outage && policy.state === CircuitState.Closed) void policy.execute(() => true)
    },
    /** Picks a random party of a call for probes, so that no order hides the healthy ones. */
    noteWanted(locators: readonly string[]): void {
      wanted = locators[Math.floor(Math.random() * locators.length)] ?? wanted
    },
    stop: () => clearTimeout(timer),
  }
}
