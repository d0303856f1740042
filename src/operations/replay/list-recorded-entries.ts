import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import { storedFacts } from '../../service/decide/decision/recorded-decision.ts'
import { logRow } from '../../service/model/log/log-entry.ts'
import { LOG_COLUMNS } from '../../service/store/sql/log-columns.ts'
import { jsonBytes, PAGE_BYTES_MAX, textBytes } from '../../service/store/sql/page-bytes.ts'
import { inSnapshot } from '../../service/store/sql/snapshot.ts'
import { replayedDecision } from './rebuild-entry.ts'
import type { RecordedEntry } from './verify-entry.ts'

const decisionRow = replayedDecision.extend({ locator: z.string(), facts: storedFacts })

/**
 * All recorded data, ordered by locator: pages of about `countMax` log rows and decisions each, and of `PAGE_BYTES_MAX`; the last
 * locator's data is complete. Each page is read in its own snapshot, so that a row matches its decisions and vacuum is not delayed
 * for long.
 */
export async function* recordedEntryPages(
  pool: DatabasePool,
  countMax: number,
): AsyncGenerator<readonly RecordedEntry[]> {
  let after: string | null = ''
  while (after !== null) {
    const start: string = after
    const { page, end } = await inSnapshot(pool, async (tx) => {
      const end = await pageEnd(tx, start, countMax)
      const upTo = end === null ? sql.fragment`` : sql.fragment`AND locator <= ${end}`
      return { page: await listRecordedEntries(tx, sql.fragment`locator > ${start} ${upTo}`), end }
    })
    yield page
    after = end
  }
}

/** The last locator of the page after `after`; null if the rest is one page. */
function pageEnd(tx: CommonQueryMethods, after: string, countMax: number): Promise<string | null> {
  const entryBytes = textBytes(sql.fragment`subject`, sql.fragment`body`, sql.fragment`failure_reason`)
  const decisionBytes = sql.fragment`(
    ${jsonBytes(sql.fragment`variables`, sql.fragment`facts`)} + ${textBytes(sql.fragment`reason`, sql.fragment`send_error`)})`
  return tx.oneFirst(sql.type(z.object({ end: z.string().nullable() }))`
    WITH entry AS MATERIALIZED (
      SELECT locator, ${entryBytes} AS bytes
      FROM notifications.notification_log WHERE locator > ${after} ORDER BY locator LIMIT ${countMax}
    ), decided AS MATERIALIZED (
      SELECT locator, ${decisionBytes} AS bytes
      FROM notifications.decision WHERE locator > ${after} ORDER BY locator LIMIT ${countMax}
    )
    SELECT least(
      (SELECT max(locator) FROM entry HAVING count(*) = ${countMax}),
      (SELECT max(locator) FROM decided HAVING count(*) = ${countMax}),
      (
        SELECT min(locator) FROM (
          SELECT locator, sum(bytes) OVER (ORDER BY locator) AS bytes
          FROM (TABLE entry UNION ALL TABLE decided) AS recorded
        ) AS summed WHERE bytes >= ${PAGE_BYTES_MAX}
      )
    ) AS "end"`)
}

/** The log rows and decisions that meet a condition on `locator`, ordered by it. */
export async function listRecordedEntries(
  tx: CommonQueryMethods,
  condition: FragmentSqlToken,
): Promise<readonly RecordedEntry[]> {
  const rows = await tx.any(sql.type(logRow)`
    SELECT ${LOG_COLUMNS}, last_attempt_at AS "lastAttemptAt"
    FROM notifications.notification_log WHERE ${condition} ORDER BY locator`)
  const decisions = await tx.any(sql.type(decisionRow)`
    SELECT
      locator, attempt, event_id AS "eventId", party_locator AS "partyLocator", event_type AS "eventType", outcome,
      channel, rule_id AS "ruleId", reason, facts, variables, template_revision AS "templateRevision",
      rule_table_revision AS "ruleTableRevision", send_error AS "sendError", decided_at AS "decidedAt",
      erased_at AS "erasedAt"
    FROM notifications.decision WHERE ${condition} ORDER BY locator, attempt`)
  const decisionsOf = Map.groupBy(decisions, ({ locator }) => locator)
  const rowOf = new Map(rows.map((row) => [row.locator, row]))
  const locators = [...new Set([...rowOf.keys(), ...decisionsOf.keys()])].sort()
  return locators.map((locator) => ({
    locator,
    row: rowOf.get(locator) ?? null,
    decisions: decisionsOf.get(locator) ?? [],
  }))
}
