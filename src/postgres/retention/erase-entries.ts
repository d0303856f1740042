import { type DatabasePool, type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import { ERASED_UNSENT, type ErasureCounts } from '../../core/log/erasure.ts'
import { lockErasure } from './erasure-record.ts'

/** Keeps transactions to some milliseconds, so that they hold up nothing else. */
const ENTRY_COUNT_MAX = 500
/** Of one statement, which compares keys only. */
const DECISION_COUNT_MAX = 50_000

const locators = z.object({ locator: z.string() })

/** Locators of a party, and how many of them are of failed rows. */
export interface EntriesToErase {
  readonly locators: readonly string[]
  readonly retries: number
}

/**
 * The locators under which something of a party is stored yet, in pages: first those of its log entries, then those of
 * decisions whose row is not there, which a rebuild would bring back. `onProgress` is told how many decisions
 * were compared with the log so far.
 */
export async function* entriesToErase(
  pool: DatabasePool,
  partyLocator: string,
  onProgress: (decisions: number) => void,
): AsyncGenerator<EntriesToErase> {
  yield* entriesOfParty(pool, partyLocator)
  yield* decisionsOfParty(pool, partyLocator, onProgress)
}

const row = locators.extend({
  eventType: z.string(),
  status: z.string(),
  channel: z.string(),
  createdAt: z.string(),
})

async function* entriesOfParty(pool: DatabasePool, partyLocator: string): AsyncGenerator<EntriesToErase> {
  for (let after: z.infer<typeof row> | undefined; ; ) {
    const isLater =
      after === undefined
        ? sql.fragment`true`
        : sql.fragment`(event_type, status, channel, created_at, locator) >
            (${after.eventType}, ${after.status}, ${after.channel}, ${after.createdAt}::timestamptz, ${after.locator})`
    const page: readonly z.infer<typeof row>[] = await pool.any(sql.type(row)`
      SELECT event_type AS "eventType", status, channel, created_at AS "createdAt", locator
      FROM notifications.notification_log AS entry
      WHERE party_locator = ${partyLocator} AND ${isLater}
        AND (body IS NOT NULL OR EXISTS (
          SELECT FROM notifications.decision WHERE decision.locator = entry.locator AND erased_at IS NULL
        ))
      ORDER BY event_type, status, channel, created_at, locator
      LIMIT ${ENTRY_COUNT_MAX}`)
    const retries = page.filter(({ status }) => status === 'FAILED').length
    if (page.length > 0) yield { locators: page.map(({ locator }) => locator), retries }
    after = page.at(-1)
    if (page.length < ENTRY_COUNT_MAX) return
  }
}

async function* decisionsOfParty(
  pool: DatabasePool,
  partyLocator: string,
  onProgress: (decisions: number) => void,
): AsyncGenerator<EntriesToErase> {
  let seen = 0
  for (let after: string | null = ''; after !== null; ) {
    const start: string = after
    const end: string | null = await pool.maybeOneFirst(sql.type(locators)`
      SELECT locator FROM notifications.decision
      WHERE locator > ${start} ORDER BY locator OFFSET ${DECISION_COUNT_MAX - 1} LIMIT 1`)
    const orphans = await pool.anyFirst(orphansQuery(start, end))
    const found = orphans.length === 0 ? [] : await pool.anyFirst(ofPartyQuery(partyLocator, orphans))
    seen += end === null ? 0 : DECISION_COUNT_MAX
    onProgress(seen)
    for (let first = 0; first < found.length; first += ENTRY_COUNT_MAX) {
      yield { locators: found.slice(first, first + ENTRY_COUNT_MAX), retries: 0 }
    }
    after = end
  }
}

/**
 * The query for the locators of decisions without a row, of any party, behind `after` and up to `end`. It merges the keys of
 * two indexes and reads no decision: an index by party would cost every logged event a random page.
 */
export function orphansQuery(after: string, end: string | null) {
  const upTo = (column: FragmentSqlToken) =>
    end === null ? sql.fragment`` : sql.fragment`AND ${column} <= ${end}`
  return sql.type(locators)`
    SELECT DISTINCT locator FROM notifications.decision
    WHERE locator > ${after} ${upTo(sql.fragment`locator`)} AND NOT EXISTS (
      SELECT FROM notifications.notification_log AS entry
      WHERE entry.locator = decision.locator AND entry.locator > ${after} ${upTo(sql.fragment`entry.locator`)}
    )`
}

/** The query for those of the locators whose decisions are of a party and were not erased. */
function ofPartyQuery(partyLocator: string, orphans: readonly string[]) {
  return sql.type(locators)`
    SELECT DISTINCT locator FROM notifications.decision
    WHERE locator = ANY(${sql.array([...orphans], 'text')}) AND party_locator = ${partyLocator} AND erased_at IS NULL
    ORDER BY locator`
}

/**
 * Blanks log entries and the decisions behind them, in one transaction, and counts it in the record of the erasure. A
 * FAILED row has nothing left to be sent: it becomes SKIPPED. Erased ones are left as they are.
 */
export function eraseEntries(
  pool: DatabasePool,
  erasure: bigint,
  ofParty: readonly string[],
): Promise<Pick<ErasureCounts, 'logEntries' | 'retries'>> {
  const these = sql.fragment`locator = ANY(${sql.array([...ofParty], 'text')})`
  return pool.transaction(async (tx) => {
    await lockErasure(tx)
    // It waits for a retry that is under way, whose decision is seen by the statements that follow.
    const retries = await tx.anyFirst(sql.type(locators)`
      UPDATE notifications.notification_log
      SET status = 'SKIPPED', failure_reason = ${ERASED_UNSENT}, subject = NULL, body = NULL
      WHERE ${these} AND status = 'FAILED' RETURNING locator`)
    const sent = await tx.anyFirst(sql.type(locators)`
      UPDATE notifications.notification_log SET subject = NULL, body = NULL
      WHERE ${these} AND body IS NOT NULL RETURNING locator`)
    const decided = await tx.anyFirst(sql.type(locators)`
      UPDATE notifications.decision
      SET erased_at = now(), variables = NULL, send_error = CASE WHEN send_error IS NOT NULL THEN 'erased' END,
        receipt = CASE WHEN receipt IS NOT NULL THEN 'erased' END
      WHERE ${these} AND erased_at IS NULL RETURNING locator`)
    const counts = {
      logEntries: new Set([...retries, ...sent, ...decided]).size,
      retries: retries.length,
    }
    await tx.query(sql.unsafe`
      UPDATE notifications.erasure
      SET log_entries = log_entries + ${counts.logEntries}, retries = retries + ${counts.retries}
      WHERE id = ${erasure}`)
    return counts
  })
}
