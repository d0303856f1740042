import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { ERASED_UNSENT, type ErasureCounts } from '../../core/log/erasure.ts'
import { storable } from '../../core/text/text.ts'
import { lockPreferences } from '../write/preferences.ts'

/** Any fixed number: what erases rows and what puts rows back take turns, so that no text comes back. */
const ERASURE_LOCK = 4_006_004
/** A transaction takes some milliseconds: nobody waits for it. */
const ENTRY_COUNT_MAX = 500
const DECISION_COUNT_MAX = 20_000

const locators = z.object({ locator: z.string() })
const idRow = z.object({ id: z.bigint() })
const countRow = z.object({ count: z.number() })

/** Locators of a party, and how many of them are of failed rows. */
export interface EntriesToErase {
  readonly locators: readonly string[]
  readonly retries: number
}

/** Waits for its turn, and keeps it until the transaction ends. */
export async function lockErasure(tx: CommonQueryMethods): Promise<void> {
  await tx.query(sql.unsafe`SELECT pg_advisory_xact_lock(${ERASURE_LOCK})`)
}

/** Records that the erasure of a party begins, and by whom it was asked for. Returns its id. */
export function beginErasure(pool: DatabasePool, partyLocator: string, by: string): Promise<bigint> {
  return pool.oneFirst(sql.type(idRow)`
    INSERT INTO notifications.erasure (party_locator, erased_by) VALUES (${partyLocator}, ${storable(by)})
    RETURNING id`)
}

/** Records that all was done. */
export async function finishErasure(pool: DatabasePool, erasure: bigint): Promise<void> {
  await pool.query(
    sql.unsafe`UPDATE notifications.erasure SET finished_at = clock_timestamp() WHERE id = ${erasure}`,
  )
}

/**
 * The locators under which something of a party is stored that is not erased yet, in pages: first those of its log
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
      SET erased_at = now(), variables = NULL, send_error = CASE WHEN send_error IS NOT NULL THEN 'erased' END
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

const HAS_CONTACT = sql.fragment`(email IS NOT NULL OR phone IS NOT NULL)`
const CHANGE_HAS_CONTACT = sql.fragment`
  (coalesce(before ->> 'email', before ->> 'phone', after ->> 'email', after ->> 'phone') IS NOT NULL)`
const NO_CONTACT = '{"email": null, "phone": null}'

/** How many preferences (one at most) and changes of them hold contact details of a party. */
export function countPreferencesToErase(
  pool: DatabasePool,
  partyLocator: string,
): Promise<Pick<ErasureCounts, 'preferences' | 'preferenceChanges'>> {
  return pool.one(sql.type(z.object({ preferences: z.number(), preferenceChanges: z.number() }))`
    SELECT
      (SELECT count(*)::integer FROM notifications.notification_preferences
        WHERE party_locator = ${partyLocator} AND ${HAS_CONTACT}) AS preferences,
      (SELECT count(*)::integer FROM notifications.preference_change
        WHERE party_locator = ${partyLocator} AND ${CHANGE_HAS_CONTACT}) AS "preferenceChanges"`)
}

/** Blanks the contact details in a party's preferences and in their history. What was opted out of stays so. */
export function erasePreferences(
  pool: DatabasePool,
  erasure: bigint,
  partyLocator: string,
): Promise<Pick<ErasureCounts, 'preferences' | 'preferenceChanges'>> {
  return pool.transaction(async (tx) => {
    await lockPreferences(tx, partyLocator)
    const preferences = await tx.any(sql.type(locators)`
      UPDATE notifications.notification_preferences SET email = NULL, phone = NULL
      WHERE party_locator = ${partyLocator} AND ${HAS_CONTACT} RETURNING party_locator AS locator`)
    const changes = await tx.any(sql.type(idRow)`
      UPDATE notifications.preference_change
      SET before = before || ${NO_CONTACT}::jsonb, after = after || ${NO_CONTACT}::jsonb
      WHERE party_locator = ${partyLocator} AND ${CHANGE_HAS_CONTACT} RETURNING id`)
    const counts = { preferences: preferences.length, preferenceChanges: changes.length }
    await tx.query(sql.unsafe`
      UPDATE notifications.erasure
      SET preferences = preferences + ${counts.preferences},
        preference_changes = preference_changes + ${counts.preferenceChanges}
      WHERE id = ${erasure}`)
    return counts
  })
}

/** Blanks rejected messages: key, value and headers. Returns how many were not erased before. */
export function eraseRejected(pool: DatabasePool, erasure: bigint, ids: readonly bigint[]): Promise<number> {
  return pool.oneFirst(sql.type(countRow)`
    WITH erased AS (
      UPDATE notifications.rejected_message
      SET erased_at = now(), erased_sha256 = value_sha256, key = NULL, value = NULL, headers = '{}'
      WHERE id = ANY(${sql.array([...ids], 'int8')}) AND erased_at IS NULL RETURNING id
    ), counted AS (
      UPDATE notifications.erasure
      SET rejected_messages = rejected_messages + (SELECT count(*) FROM erased) WHERE id = ${erasure}
    )
    SELECT count(*)::integer AS count FROM erased`)
}
