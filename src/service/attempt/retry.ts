import type { Logger } from 'pino'
import { type AttemptRequest, distinctParties } from '../decide/attempt/attempt.ts'
import {
  isPostponed,
  type LookedUpEntry,
  nextAttempt,
  type RetryEntry,
} from '../decide/attempt/retry-entry.ts'
import { RETRY_INTERVAL_MS } from '../decide/attempt/retry-pause.ts'
import { describeHold, findHold, Held } from '../model/request/hold.ts'
import type { PartiesAgain } from './look-up.ts'
import {
  type AttemptMaker,
  type AttemptRun,
  type AttemptsResult,
  decideAccepted,
  NO_ATTEMPTS,
  sendAndRecord,
  transact,
} from './transact.ts'

const PAGE_COUNT_MAX = 500

/** One page of due rows, oldest first, after `after` and up to `upTo`; `next` is null on the last page. */
type ListDueEntries<Cursor> = (
  after: Cursor | null,
  countMax: number,
  upTo: Cursor | null,
) => Promise<{ due: readonly RetryEntry[]; next: Cursor | null }>

/** Due rows with the contacts of their parties. */
interface RetryPart {
  readonly entries: readonly LookedUpEntry[]
  /** Rows that stay due because policy administration is down or their party timed out recently. */
  readonly postponed: readonly RetryEntry[]
}

interface RetryPage<Cursor> extends RetryPart {
  /** A pass that starts after this row reads the page again; null: a pass from the oldest row. */
  readonly after: Cursor | null
}

/** The background retry: one pass over all due rows every 60 seconds, until stopped. */
export function createRetry<Cursor>(
  maker: AttemptMaker,
  parties: PartiesAgain,
  listDueEntries: ListDueEntries<Cursor>,
  log: Logger,
) {
  const { clock, stage } = maker
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const lookUp: PartiesAgain['lookUpAgain'] = (asked) =>
    stage('retry_contacts', asked, () => parties.lookUpAgain(asked))
  /** The next pass continues after this row; null: it starts with the oldest. */
  let cursor: Cursor | null = null

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const startedMs = clock.monotonicMs()
      await pass().catch((error) =>
        log.error({ err: error }, 'a retry pass failed; the next one tries again'),
      )
      const elapsedMs = clock.monotonicMs() - startedMs
      await clock.sleep(Math.max(RETRY_INTERVAL_MS - elapsedMs, 0), stopping.signal).catch(() => {})
    }
  }

  /**
   * Retries all due rows, from where the previous pass stopped to the newest, then from the oldest to that point. While a page is
   * committed, the next one is read and its parties are looked up. Ends early if policy administration is down.
   */
  async function pass(): Promise<void> {
    const hold = findHold(await maker.store.readHolds(), null)
    if (hold !== null) return log.info({ reason: describeHold(hold) }, 'no retry while a hold is in force')
    const counts = { SENT: 0, FAILED: 0, SKIPPED: 0, postponed: 0, unchanged: 0 }
    const pages = pagesFrom(listDueEntries, lookUp, cursor)
    let { value: page } = await pages.next()
    while (page) {
      counts.postponed += page.postponed.length
      const isStopped: boolean = stopping.signal.aborted || parties.isDown()
      const following = isStopped ? null : pages.next()
      // An error of the next page is thrown after the running commit, which a stop waits for.
      following?.catch(() => {})
      const { attempts, unchanged } = await commitPage(maker, page.entries, log)
      for (const { status } of attempts) counts[status]++
      counts.unchanged += unchanged.size
      cursor = isStopped ? page.after : null
      page = (await following)?.value
      if (page) cursor = page.after
      if (stopping.signal.aborted) break
    }
    if (Object.values(counts).some((count) => count > 0)) log.info(counts, 'retried failed notifications')
    else log.debug('no failed notification is due')
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
  listDueEntries: ListDueEntries<Cursor>,
  lookUp: PartiesAgain['lookUpAgain'],
  start: Cursor | null,
): AsyncGenerator<RetryPage<Cursor>, undefined> {
  const toNewest = { from: start, upTo: null }
  for (const { from, upTo } of start === null ? [toNewest] : [toNewest, { from: null, upTo: start }]) {
    let after: Cursor | null = from
    do {
      const { due, next } = await listDueEntries(after, PAGE_COUNT_MAX, upTo)
      for await (const part of lookUpParties(lookUp, due)) yield { after, ...part }
      after = next
    } while (after !== null)
  }
}

/** An error on this page must not prevent the following ones. */
async function commitPage(
  maker: AttemptMaker,
  entries: readonly LookedUpEntry[],
  log: Logger,
): Promise<AttemptsResult> {
  if (entries.length === 0) return NO_ATTEMPTS
  try {
    const result = await maker.stage('retry', entries, () => commitRetries(maker, entries))
    for (const [{ locator }, { message }] of result.refused)
      log.error(
        { locator, error: message },
        'the database refused the retry of a row; the row stays unchanged, and the next pass retries it',
      )
    return result
  } catch (error) {
    log.error({ err: error }, 'a page of retries could not be committed; the next pass tries it again')
    return NO_ATTEMPTS
  }
}

/** Looks up the parties of due rows, in parts: rows whose party was not asked in time are in a later part. */
async function* lookUpParties(
  lookUp: PartiesAgain['lookUpAgain'],
  due: readonly RetryEntry[],
): AsyncGenerator<RetryPart> {
  for (let left = due; left.length > 0; ) {
    const contacts = await lookUp(distinctParties(left))
    const isAsked = ({ partyLocator }: RetryEntry) => partyLocator === null || contacts.has(partyLocator)
    const found = left
      .filter(isAsked)
      .map((entry) => ({ due: entry, contact: contacts.get(entry.partyLocator ?? '') }))
    yield {
      entries: found.filter((entry) => !isPostponed(entry)),
      postponed: found.filter(isPostponed).map((entry) => entry.due),
    }
    left = left.filter((entry) => !isAsked(entry))
  }
}

/** @internal Makes the next attempt of rows that nobody else has locked or changed. Rejects if the schema refuses any row. */
export function commitRetries(
  maker: AttemptMaker,
  entries: readonly LookedUpEntry[],
): Promise<AttemptsResult> {
  return transact(maker, (run) => retryLocked(run, entries, null))
}

/** Locks the rows that nobody else has locked or changed since they were read, and makes their next attempts. */
export async function retryLocked(
  run: AttemptRun,
  entries: readonly LookedUpEntry[],
  request: AttemptRequest | null,
): Promise<AttemptsResult> {
  const { tx } = run
  const due = entries.map((entry) => entry.due)
  const locked = await tx.lockEntries(due, request !== null)
  const holds = await tx.readHolds()
  const held = new Map<string, string>()
  const open = entries.flatMap((entry) => {
    const row = locked.get(entry.due.locator)
    if (row === undefined) return []
    const hold = findHold(holds, row.origin.topic)
    if (hold === null) return [nextAttempt(entry, row, request)]
    // A request waits as a whole. In the background, a held entry waits alone.
    if (request !== null) throw new Held(hold)
    held.set(entry.due.locator, describeHold(hold))
    return []
  })
  const preferences = await tx.readPreferences(distinctParties(open))
  const { accepted, refused } = await decideAccepted(run, open, preferences)
  const stored = await sendAndRecord(run, accepted, preferences)
  return { ...stored, unchanged: new Map([...stored.unchanged, ...held]), refused }
}
