import type { Logger } from 'pino'
import {
  type Attempt,
  type AttemptRequest,
  distinctParties,
  type OpenAttempt,
} from '../core/attempt/attempt.ts'
import { type DueEntry, isPostponed, type LookedUpEntry, nextAttempt } from '../core/attempt/due-entry.ts'
import { RETRY_INTERVAL_MS } from '../core/attempt/retry-interval.ts'
import type { Transaction } from '../core/attempt/store.ts'
import type { RunStage } from '../core/batch/stage.ts'
import type { Contact } from '../core/party/contact.ts'
import type { MakeAttempts } from './attempt.ts'

const PAGE_COUNT_MAX = 500

export interface RetryNeeds<Cursor> {
  /** One page of due rows, oldest first, after `after` and up to `upTo`; `next` is null on the last page. */
  readonly listDueEntries: (
    after: Cursor | null,
    countMax: number,
    upTo: Cursor | null,
  ) => Promise<{ due: readonly DueEntry[]; next: Cursor | null }>
  /** Contacts, requested in the order of the parties. Parties not asked in time are left out, except the first. */
  readonly lookUpContacts: (partyLocators: readonly string[]) => Promise<ReadonlyMap<string, Contact>>
  /** True while policy administration is known to be down: a pass ends early. */
  readonly isDown: () => boolean
  readonly attempt: MakeAttempts
  readonly stage: RunStage
  readonly clock: { nowMs: () => number; sleep: (durationMs: number, signal: AbortSignal) => Promise<void> }
  readonly log: Logger
}

export interface Retried {
  readonly made: readonly Attempt[]
  /** The database's error, by the locator of a row that it refuses. */
  readonly refused: ReadonlyMap<string, string>
  /** The reason of each deferred row, which stays unchanged, by its locator. */
  readonly deferred: ReadonlyMap<string, string>
}

const NONE_RETRIED: Retried = { made: [], refused: new Map(), deferred: new Map() }

/** Due rows with the contacts of their parties. */
interface Asked {
  readonly asked: readonly LookedUpEntry[]
  /** Rows that stay due because policy administration is down or their party timed out recently. */
  readonly postponed: readonly DueEntry[]
}

interface AskedPage<Cursor> extends Asked {
  /** A pass that starts after this row reads the page again; null: a pass from the oldest row. */
  readonly after: Cursor | null
}

/** The background retry: one pass over all due rows every 60 seconds, until stopped. */
export function createRetry<Cursor>(needs: RetryNeeds<Cursor>) {
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  /** The next pass continues after this row; null: it starts with the oldest. */
  let cursor: Cursor | null = null

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
   * Retries all due rows, from where the previous pass stopped to the newest, then from the oldest to that point. While a page is
   * committed, the next one is read and its parties are looked up. Ends early if policy administration is down.
   */
  async function pass(): Promise<void> {
    const counts = { SENT: 0, FAILED: 0, SKIPPED: 0, postponed: 0, deferred: 0 }
    const pages = pagesFrom(needs, cursor)
    let { value: page } = await pages.next()
    while (page) {
      counts.postponed += page.postponed.length
      const isStopped: boolean = stopping.signal.aborted || needs.isDown()
      const following = isStopped ? null : pages.next()
      // An error of the next page is thrown after the running commit, which a stop waits for.
      following?.catch(() => {})
      const { made, deferred } = await commitPage(needs, page.asked)
      for (const { status } of made) counts[status]++
      counts.deferred += deferred.size
      cursor = isStopped ? page.after : null
      page = (await following)?.value
      if (page) cursor = page.after
      if (stopping.signal.aborted) break
    }
    if (Object.values(counts).some((count) => count > 0))
      needs.log.info(counts, 'retried failed notifications')
    else needs.log.debug('no failed notification is due')
  }

  return {
    pass,
    start: (): void => {
      running = run()
    },
    stop: async (): Promise<void> => {
      stopping.abort()
      await running
    },
  }
}

/**
 * The pages of one pass: from `start` to the newest row, then from the oldest to `start`. Rows whose party was not asked in time
 * start the next page.
 */
async function* pagesFrom<Cursor>(
  needs: RetryNeeds<Cursor>,
  start: Cursor | null,
): AsyncGenerator<AskedPage<Cursor>, undefined> {
  const toNewest = { from: start, upTo: null }
  for (const { from, upTo } of start === null ? [toNewest] : [toNewest, { from: null, upTo: start }]) {
    let after: Cursor | null = from
    do {
      const { due, next } = await needs.listDueEntries(after, PAGE_COUNT_MAX, upTo)
      for await (const part of askParties(needs, due)) yield { after, ...part }
      after = next
    } while (after !== null)
  }
}

/** An error on this page must not prevent the following ones. */
async function commitPage(
  { attempt, stage, log }: Pick<RetryNeeds<unknown>, 'attempt' | 'stage' | 'log'>,
  asked: readonly LookedUpEntry[],
): Promise<Retried> {
  if (asked.length === 0) return NONE_RETRIED
  try {
    const retried = await stage('retry', asked, () => commitRetries(attempt, asked))
    for (const [locator, error] of retried.refused)
      log.error(
        { locator, error },
        'the database refused the retry of a row; the row stays unchanged, and the next pass retries it',
      )
    return retried
  } catch (error) {
    log.error({ err: error }, 'a page of retries could not be committed; the next pass tries it again')
    return NONE_RETRIED
  }
}

/** Asks for the parties of due rows, in parts: rows whose party was not asked in time are in a later part. */
async function* askParties(
  { lookUpContacts }: Pick<RetryNeeds<unknown>, 'lookUpContacts'>,
  due: readonly DueEntry[],
): AsyncGenerator<Asked> {
  for (let left = due; left.length > 0; ) {
    const contacts = await lookUpContacts(distinctParties(left))
    const isAsked = ({ partyLocator }: DueEntry) => partyLocator === null || contacts.has(partyLocator)
    const found = left
      .filter(isAsked)
      .map((entry) => ({ due: entry, contact: contacts.get(entry.partyLocator ?? '') }))
    yield {
      asked: found.filter((entry) => !isPostponed(entry)),
      postponed: found.filter(isPostponed).map((entry) => entry.due),
    }
    left = left.filter((entry) => !isAsked(entry))
  }
}

/** Makes the next attempt of rows that nobody else has locked or changed. Rejects if the schema refuses any row. */
export async function commitRetries(
  attempt: MakeAttempts,
  asked: readonly LookedUpEntry[],
): Promise<Retried> {
  const made = await attempt({
    lock: async (tx) => ({ open: await lockAsked(tx, asked, null), moves: [] }),
  })
  if (made === null) return NONE_RETRIED
  const refused = new Map([...made.refused].map(([{ locator }, { message }]) => [locator, message]))
  return { made: made.attempts, refused, deferred: made.deferred }
}

/** Locks the rows that nobody else has locked or changed since they were read, and opens their next attempts. */
export async function lockAsked(
  tx: Transaction,
  asked: readonly LookedUpEntry[],
  request: AttemptRequest | null,
): Promise<OpenAttempt[]> {
  const due = asked.map((entry) => entry.due)
  const locked = await tx.lockEntries(due, request !== null)
  return asked.flatMap((entry) => {
    const row = locked.get(entry.due.locator)
    return row === undefined ? [] : [nextAttempt(entry, row, request)]
  })
}
