import type { Logger } from 'pino'
import type { Answer } from './answer.ts'

/** Whether an answer can be told from one for another party: by its HTTP/2 stream, by the party it names, or not. */
export type Naming = 'HTTP/2' | 'named' | 'unnamed' | 'unknown'

/** Contacts in a row that must have named their party before requests share a connection. */
const NAMED_COUNT_MIN = 32

export type NamingWatch = ReturnType<typeof createNaming>

/** Learns from contacts whether they name their party, and logs what it learns. */
export function createNaming(log: Logger) {
  let namedCount = 0
  let state: Naming = 'unknown'
  return {
    state: () => state,
    isReliable: () => namedCount >= NAMED_COUNT_MIN,
    note({ contact, names }: Answer): void {
      if (contact.state !== 'found') return
      namedCount = names === 'ours' ? Math.min(namedCount + 1, NAMED_COUNT_MIN) : 0
      const learnt = names === 'ours' ? 'named' : 'unnamed'
      if (learnt !== state) log.info(SAYS[learnt])
      state = learnt
    },
  }
}

const SAYS = {
  named:
    'policy administration names the party in its answers: each is checked, and look-ups share connections',
  unnamed:
    'policy administration does not name the party in its answers: they cannot be checked, and each connection has one ' +
    'look-up at a time (src/party/README.md)',
}
