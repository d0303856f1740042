import type { LookUpContacts } from '../party/contact.ts'

const START_COUNT = 100
const COUNT_MIN = 25

export interface BatchLimit {
  count(): number
  /**
   * Records a look-up, unless policy administration was known to be down. `unaskedCount`: parties that were not asked in time.
   */
  note(partyCount: number, unaskedCount: number, tookMs: number): void
}

/**
 * Adapts the batch size to the speed of policy administration: the parties of all partitions queue for the same connections, and
 * a batch is cut before the first party not asked in time. Starts small, grows while look-ups take little of the deadline, and
 * shrinks if parties were not asked. A look-up that took the whole deadline but asked every party waited for a hanging one:
 * smaller batches would only wait more often.
 */
export function createBatchLimit(countMax: number, deadlineMs: number): BatchLimit {
  let limit = Math.min(START_COUNT, countMax)
  return {
    count: () => limit,
    note: (partyCount, unaskedCount, tookMs) => {
      if (partyCount === 0) return
      if (unaskedCount > 0) limit = Math.min(countMax, Math.max(COUNT_MIN, Math.floor(limit / 2)))
      else if (tookMs < deadlineMs / 4 || tookMs >= deadlineMs) {
        limit = Math.min(countMax, Math.ceil(limit * 1.5))
      }
    },
  }
}

interface Parties {
  readonly lookUp: LookUpContacts
  /** While policy administration is known to be down, look-ups say nothing about its speed. */
  readonly isDown: () => boolean
}

/** Looks up the contacts of distinct parties, and adapts the batch size to the time this takes. */
export function createContactLookUp(
  parties: Parties,
  batchLimit: BatchLimit,
  nowMs: () => number,
): LookUpContacts {
  return async (partyLocators) => {
    const startMs = nowMs()
    const contacts = await parties.lookUp(partyLocators)
    if (!parties.isDown()) {
      batchLimit.note(partyLocators.length, partyLocators.length - contacts.size, nowMs() - startMs)
    }
    return contacts
  }
}
