import type { Logger } from 'pino'
import type { Contact } from '../decide/party/contact.ts'
import type { LookUpResult } from './answer.ts'
import { remedyForLookUp } from './look-up-remedies.ts'

export type Circuit = ReturnType<typeof createCircuit>

const PARTY_COUNT_MIN = 20
const CONFIRM_MS = 1_000
const PROBE_INTERVAL_MS = 5_000

/**
 * Suspects an outage once 20 distinct parties in a row have failed, or a request could not be sent, and at once asks for a party
 * that was answered before. If that fails, and a waiting party fails a second later, policy administration counts as down; a probe
 * every 5 s detects its return.
 */
export function createCircuit(
  ask: (locator: string) => Promise<LookUpResult>,
  onVerdict: () => void,
  log: Logger,
) {
  const failing = new Set<string>()
  let down: Contact | null = null
  /** Resolved once a probe has decided; null at other times. */
  let undecided: PromiseWithResolvers<void> | null = null
  let probeCount = 0
  let answered = ''
  let wanted = ''
  let timer: NodeJS.Timeout | undefined

  function probeIn(delayMs: number): void {
    timer = setTimeout(() => void probe(), delayMs).unref()
  }

  /** Asks for two parties in turn, since one of them may always fail. */
  async function probe(): Promise<void> {
    const { outage, contact } = await ask(probeCount++ % 2 === 0 ? answered || wanted : wanted)
    if (!outage || failing.size === 0) return close()
    if (contact.state === 'unresolved' && probeCount >= 2) {
      const { error, codes = [] } = contact
      if (down === null)
        log.warn(
          { error, remedy: remedyForLookUp(codes) },
          'policy administration is down: no look-ups until a probe succeeds',
        )
      down = {
        ...contact,
        error: `the party was not looked up during an outage: ${error}`,
        costsNoAttempt: true,
      }
      endDoubt()
    }
    probeIn(down === null ? CONFIRM_MS : PROBE_INTERVAL_MS)
  }

  function close(): void {
    if (down !== null) log.info('policy administration is back: look-ups resume')
    down = null
    probeCount = 0
    failing.clear()
    endDoubt()
  }

  function endDoubt(): void {
    undecided?.resolve()
    undecided = null
    onVerdict()
  }

  return {
    /** The contact of every party while policy administration is known to be down; else null. */
    contactWhileDown: () => down,
    /** A party that was answered; empty if there was none. */
    lastAnsweredParty: () => answered,
    /** A probe is about to decide: no look-up may begin. */
    isUndecided: () => undecided !== null,
    whenDecided: async (): Promise<void> => undecided?.promise,
    note(locator: string, { outage, contact, isUnsent = false }: LookUpResult): void {
      // Only a probe closes it: other answers belong to earlier requests.
      if (down !== null) return
      if (contact.state !== 'unresolved') answered = locator
      if (outage) failing.add(locator)
      else failing.clear()
      if (undecided !== null || (failing.size < PARTY_COUNT_MIN && !isUnsent)) return
      undecided = Promise.withResolvers()
      probeIn(0)
    },
    /** Picks a random party of a call to probe, so that failing parties at its front do not decide. */
    noteWanted(locators: readonly string[]): void {
      wanted = locators[Math.floor(Math.random() * locators.length)] ?? wanted
    },
    stop(): void {
      clearTimeout(timer)
      undecided?.resolve()
    },
  }
}
