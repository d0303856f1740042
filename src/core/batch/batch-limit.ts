import type { Contact } from '../party/contact.ts'

const START_COUNT = 100
const COUNT_MIN = 25

export interface BatchLimit {
  /** How many messages a batch may have now. */
  count(): number
  /** Records a look-up made while policy administration was not known to be down, and how long it took. */
  note(contacts: ReadonlyMap<string, Contact>, tookMs: number): void
}

/**
 * Adapts the batch size to the speed of policy administration: the parties of all partitions queue for the same
 * connections, and a party that is not asked within the deadline fails. Starts small, grows while look-ups take little of
 * the deadline, and shrinks where some parties were not asked. A look-up that took the whole deadline but asked for every
 * party waited for one that hangs: smaller batches would only wait more often.
 */
export function createBatchLimit(countMax: number, deadlineMs: number): BatchLimit {
  let limit = Math.min(START_COUNT, countMax)
  return {
    count: () => limit,
    note: (contacts, tookMs) => {
      if (contacts.size === 0) return
      if (hasUnasked(contacts)) limit = Math.min(countMax, Math.max(COUNT_MIN, Math.floor(limit / 2)))
      else if (tookMs < deadlineMs / 4 || tookMs >= deadlineMs) {
        limit = Math.min(countMax, Math.ceil(limit * 1.5))
      }
    },
  }
}

function hasUnasked(contacts: ReadonlyMap<string, Contact>): boolean {
  for (const contact of contacts.values()) if (contact.state === 'unresolved' && contact.unasked) return true
  return false
}
