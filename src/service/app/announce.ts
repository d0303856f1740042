import { setTimeout as sleep } from 'node:timers/promises'
import type { ReplicaTroubles } from '../model/service-status.ts'
import type { DatabasePool } from '../store/connection/pool.ts'
import { type AnnouncedReplica, announceReplica } from '../store/write/announce-replica.ts'

/** Time after which the others learn of a change. */
const LOOK_MS = 5_000
/** A replica in trouble reports this often. Without a report its trouble is no longer shown. */
const REPEATED_MS = 15_000

/** Records in the database, for the other replicas, that this one runs, and its troubles. */
export function createAnnouncer(
  self: AnnouncedReplica,
  pool: () => DatabasePool,
  readTroubles: () => ReplicaTroubles,
) {
  let said: { readonly text: string | null; readonly atMs: number } = { text: null, atMs: 0 }

  async function announce(): Promise<void> {
    const text = describeTroubles()
    await announceReplica(pool(), self, text)
    said = { text, atMs: performance.now() }
  }

  function describeTroubles(): string | null {
    const troubles = readTroubles()
    return troubles.lookUps === null && troubles.blocked.length === 0 ? null : JSON.stringify(troubles)
  }

  function isOutdated(): boolean {
    const text = describeTroubles()
    return text !== said.text || (text !== null && performance.now() - said.atMs >= REPEATED_MS)
  }

  return {
    announce,
    /** Announces each change until the signal aborts. Never rejects: what fails is tried again. */
    watch: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        await sleep(LOOK_MS, null, { signal, ref: false }).catch(() => {})
        if (!signal.aborted && isOutdated()) await announce().catch(() => {})
      }
    },
  }
}
