import type { Contact } from '../decide/party/contact.ts'
import { HUNG, UNASKABLE } from './answer.ts'
import { createCircuit } from './circuit.ts'
import { Connection, type PartyClientOptions } from './connection.ts'
import { createHealth } from './health.ts'
import { HungParties } from './hung-parties.ts'
import { Turns } from './turns.ts'

const CLOSED = 'the client of policy administration is closed'

export type PartyClient = ReturnType<typeof createPartyClient>

export function createPartyClient(options: PartyClientOptions) {
  const { deadlineMs, log } = options
  const probing = new Connection(options)
  const circuit = createCircuit(
    (locator) => new Promise((done) => probing.get(locator, deadlineMs, done)),
    () => turns.resumeAfterProbe(),
    log,
  )
  const health = createHealth(options, circuit)
  const hungParties = new HungParties()
  const turns = new Turns(options, circuit, health, hungParties)
  let isClosed = false

  function lookUp(partyLocators: readonly string[], asksHung: boolean): Promise<Map<string, Contact>> {
    if (isClosed) return Promise.reject(new Error(CLOSED))
    const contacts = new Map<string, Contact>()
    const fresh: string[] = []
    const hung: string[] = []
    for (const locator of new Set(partyLocators)) {
      if (/^\.{0,2}$/.test(locator) || !locator.isWellFormed()) contacts.set(locator, UNASKABLE)
      else if (!hungParties.has(locator)) fresh.push(locator)
      else if (asksHung) hung.push(locator)
      else contacts.set(locator, HUNG)
    }
    circuit.noteWanted(fresh)
    return turns.add(contacts, [...fresh, ...hung].reverse(), asksHung)
  }

  return {
    /**
     * Contacts of distinct parties, requested in their order. Those that timed out recently are answered without a request. Omits
     * parties not asked within half a deadline; the first is always asked. Rejects only if the client is closed.
     */
    lookUp: (partyLocators: readonly string[]) => lookUp(partyLocators, false),
    /**
     * Like `lookUp`, but for retries, redrives and requests, with two deadlines. Also asks for parties that timed out recently,
     * briefly and on few connections. If look-ups just failed, waits for the verdict of a probe; if policy administration is down,
     * they cost no attempt.
     */
    lookUpAgain: async (partyLocators: readonly string[]): Promise<Map<string, Contact>> => {
      const contacts = await lookUp(partyLocators, true)
      await circuit.whenDecided()
      const down = circuit.contactWhileDown()
      if (down === null) return contacts
      for (const [locator, { state }] of contacts) if (state === 'unresolved') contacts.set(locator, down)
      return contacts
    },
    /** True while policy administration is known to be down: a look-up is answered without a request. */
    isDown: (): boolean => circuit.contactWhileDown() !== null,
    /** The reason why look-ups fail now, or null. Without an answer in the last minute it looks up a party, at most once in 10 s. */
    fault: health.fault,
    failsSinceMs: health.failsSinceMs,
    /** True if the newest contact named its party, so that it could be verified; null without a contact. */
    namesParty: health.namesParty,
    async close(): Promise<void> {
      isClosed = true
      circuit.stop()
      await Promise.all([turns.close(new Error(CLOSED)), health.close(), probing.close()])
    },
  }
}
