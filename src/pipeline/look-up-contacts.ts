import type { BatchLimit } from '../core/batch/batch-limit.ts'
import type { LookUpContacts } from '../core/party/contact.ts'

interface Parties {
  readonly lookUp: LookUpContacts
  /** While policy administration is known to be down, look-ups say nothing about how fast it is. */
  readonly isDown: () => boolean
}

/** Looks the contacts of distinct parties up, and adapts the size of batches to how long that takes. */
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
