import type { Logger } from 'pino'
import { type AskedEntry, isPostponed, type RetriedEntry } from '../core/log/decide-retry.ts'
import type { DueEntry } from '../core/log/due-entry.ts'
import type { Contact } from '../core/party/contact.ts'

/** Fixed by the specification. */
export const RETRY_INTERVAL_MS = 60_000
/**
 * A row is due again this long after its last attempt: a little less than the interval, so that a pass that starts a
 * moment early misses nothing, and far longer than the gap between the passes of two replicas.
 */
export const RETRY_MIN_PAUSE_MS = 55_000
const PAGE_COUNT_MAX = 500

export interface RetryNeeds<Cursor> {
  /** One page of due rows, oldest first; `next` is null on the last. */
  readonly listDueEntries: (
    after: Cursor | null,
    countMax: number,
  ) => Promise<{ due: readonly DueEntry[]; next: Cursor | null }>
  readonly contactsOf: (partyLocators: readonly string[]) => Promise<ReadonlyMap<string, Contact>>
  /** True while policy administration is known to be down: the rest of a pass would be in vain. */
  readonly isDown: () => boolean
  /** Decides the rows that nobody else took, and carries out their retries; returns those. */
  readonly commit: (asked: readonly AskedEntry[]) => Promise<readonly RetriedEntry[]>
  readonly clock: { nowMs: () => number; sleep: (durationMs: number, signal: AbortSignal) => Promise<void> }
  readonly log: Logger
}

/** `postponedCount`: rows that are due and whose party was not asked. */
interface AskedPage<Cursor> {
  readonly asked: readonly AskedEntry[]
  readonly postponedCount: number
  readonly next: Cursor | null
}

/** The background retry: one pass over all that is due, every 60 seconds, until stopped. */
export function createRetry<Cursor>(needs: RetryNeeds<Cursor>) {
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const startedMs = needs.clock.nowMs()
      await pass().catch((error) =>
        needs.log.error({ err: error }, 'a retry pass failed; the next one tries again'),
      )
      const elapsedMs = needs.clock.nowMs() - startedMs
      await needs.clock.sleep(Math.max(RETRY_INTERVAL_MS - elapsedMs, 0), stopping.signal).catch(() => {})
    }
  }

  /**
   * Retries all that is due, page by page, the next one read and asked about while one is committed; stops early once policy
   * administration is known to be down.
   */
  async function pass(): Promise<void> {
    const counts = { SENT: 0, FAILED: 0, SKIPPED: 0, postponed: 0 }
    let page: AskedPage<Cursor> | null = await askPage(needs, null)
    while (page !== null) {
      const next: Cursor | null = page.next
      counts.postponed += page.postponedCount
      const isLast: boolean = next === null || stopping.signal.aborted || needs.isDown()
      const following: Promise<AskedPage<Cursor>> | null = isLast ? null : askPage(needs, next)
      const [made] = await Promise.all([commit(page.asked), following])
      for (const { status } of made) counts[status]++
      page = stopping.signal.aborted ? null : await following
    }
    if (Object.values(counts).some((count) => count > 0))
      needs.log.info(counts, 'retried failed notifications')
    else needs.log.debug('no failed notification is due')
  }

  async function commit(asked: readonly AskedEntry[]): Promise<readonly RetriedEntry[]> {
    return asked.length === 0 ? [] : needs.commit(asked)
  }

  return {
    pass,
    start: (): void => {
      running = run()
    },
    /** Lets the page under way finish. */
    stop: async (): Promise<void> => {
      stopping.abort()
      await running
    },
  }
}

/** Reads one page, and looks up the contacts of its parties. */
async function askPage<Cursor>(needs: RetryNeeds<Cursor>, after: Cursor | null): Promise<AskedPage<Cursor>> {
  const { due, next } = await needs.listDueEntries(after, PAGE_COUNT_MAX)
  const parties = [...new Set(due.flatMap(({ partyLocator }) => partyLocator ?? []))]
  const contacts = due.length === 0 ? new Map<string, Contact>() : await needs.contactsOf(parties)
  const asked = due
    .map((entry) => ({ due: entry, contact: contacts.get(entry.partyLocator ?? '') }))
    .filter((entry) => !isPostponed(entry))
  return { asked, postponedCount: due.length - asked.length, next }
}
