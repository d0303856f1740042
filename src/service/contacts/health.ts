import { share } from '../time/share.ts'
import type { LookUpResult } from './answer.ts'
import type { Circuit } from './circuit.ts'
import { Connection, type PartyClientOptions } from './connection.ts'

/** Time after an answer for which look-ups count as working without a check. */
const ANSWER_VALID_MS = 60_000
const CHECK_VALID_MS = 10_000
const CHECK_DEADLINE_MS = 3_000
/** A locator that no party has: an answer of 404 is enough. */
const NOBODY = 'notifications-service-check'

export type Health = ReturnType<typeof createHealth>

/** Judges whether look-ups work, by their newest answer or else by a check. */
export function createHealth(options: PartyClientOptions, circuit: Circuit) {
  const timeoutMs = Math.min(options.deadlineMs, CHECK_DEADLINE_MS)
  const connection = new Connection(options)
  let newest = { outage: true, atMs: 0 }
  let namesParty: boolean | null = null
  /** In ms since 1970; null if the newest answer or check was sound. */
  let failsSinceMs: number | null = null
  const noteOutage = (outage: boolean) => {
    failsSinceMs = outage ? (failsSinceMs ?? Date.now()) : null
  }

  /** Asks for one party on its own connection, so that it waits for no other. */
  const check = share(
    () =>
      new Promise<string | null>((done) =>
        connection.get(circuit.lastAnsweredParty() || NOBODY, timeoutMs, ({ outage, contact }) => {
          noteOutage(outage)
          done(outage && contact.state === 'unresolved' ? contact.error : null)
        }),
      ),
    // Each request has a deadline of its own, and a connection takes one at a time.
    { validMs: CHECK_VALID_MS, deadlineMs: Number.POSITIVE_INFINITY },
    () => performance.now(),
  )

  return {
    note({ outage, contact, isNamed }: LookUpResult): void {
      newest = { outage, atMs: performance.now() }
      noteOutage(outage)
      if (contact.state === 'found') namesParty = isNamed
    },
    async fault(): Promise<string | null> {
      if (circuit.contactWhileDown() !== null) return 'policy administration is down'
      return !newest.outage && performance.now() - newest.atMs < ANSWER_VALID_MS ? null : check()
    },
    /** Start of the failures in ms since 1970; null if the newest look-up succeeded. */
    failsSinceMs: (): number | null => failsSinceMs,
    namesParty: (): boolean | null => namesParty,
    close: () => connection.close(),
  }
}
