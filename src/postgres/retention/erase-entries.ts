import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { ERASED_UNSENT, type ErasureCounts } from '../../core/log/erasure.ts'
import { lockErasure } from './erasure-record.ts'

/** Keeps transactions to some milliseconds, so that they hold up nothing else. */
const ENTRY_COUNT_MAX = 500
const DECISION_COUNT_MAX = 20_000

const locators = z.object({ locator: z.string() })

/** Locators of a party, and how many of them are of failed rows. */
export interface EntriesToErase {
  readonly locators: readonly string[]
  readonly retries: number
}

/**
 * The locators under which something of a party is stored yet, in pages: first those of its log
 * entries, then those of decisions whose row is not there, which a rebuild would bring back. The decisions have no
 * index by party: all of them are looked at, page by page, and `onProgress` is told how many so far.
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

const decisionPage = z.object({ end: z.string().nullable(), count: z.number(), found: z.array(z.string()) })

async function* decisionsOfParty(
  pool: DatabasePool,
  partyLocator: string,
  onProgress: (decisions: number) => void,
): AsyncGenerator<EntriesToErase> {
  let seen = 0
  for (let after: string | null = ''; after !== null; ) {
    const start: string = after
    const { end, count, found }: z.infer<typeof decisionPage> = await pool.one(sql.type(decisionPage)`
      WITH page AS MATERIALIZED (
        SELECT locator, party_locator, erased_at FROM notifications.decision
        WHERE locator > ${start} ORDER BY locator LIMIT ${DECISION_COUNT_MAX}
      )
      SELECT max(locator) AS "end", count(*)::integer AS count, ARRAY(
        SELECT DISTINCT locator FROM page
        WHERE party_locator = ${partyLocator} AND erased_at IS NULL
          -- The others were found among the entries.
          AND NOT EXISTS (SELECT FROM notifications.notification_log AS entry WHERE entry.locator = page.locator)
        ORDER BY locator
      ) AS found
      FROM page`)
    seen += count
    onProgress(seen)
    if (found.length > 0) yield { locators: found, retries: 0 }
    after = count < DECISION_COUNT_MAX ? null : end
  }
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
