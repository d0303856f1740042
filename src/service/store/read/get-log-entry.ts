import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { RETRY_INTERVAL_MS } from '../../decide/attempt/retry-pause.ts'
import { recordedDecision, storedFacts, storedVariables } from '../../decide/decision/recorded-decision.ts'
import type { Variables } from '../../decide/templates/template.ts'
import { type RecordedLogEntry, recordedLogEntry } from '../../model/log/log-entry.ts'
import { findHold } from '../../model/request/hold.ts'
import { isoTime } from '../sql/columns.ts'
import { type GivenUpLimits, isToBeRetried } from '../sql/given-up.ts'
import { listedColumns, RECORDED_ONLY, WITH_LAST } from '../sql/log-columns.ts'
import { ORIGIN_IN_JSON } from '../sql/origin-columns.ts'
import { holdsRow, selectHolds } from './read-holds.ts'

const recordedRow = recordedLogEntry.extend({
  nextRetry: recordedLogEntry.shape.nextRetry.unwrap().omit({ isHeld: true }).nullable(),
  decisions: z.array(recordedDecision.extend({ facts: storedFacts })),
  ...holdsRow.shape,
})

export async function getLogEntry(
  pool: DatabasePool,
  limits: GivenUpLimits,
  locator: string,
): Promise<RecordedLogEntry | null> {
  const found = await pool.maybeOne(logEntryQuery(limits, locator))
  if (found === null) return null
  const { holds, nextRetry, ...entry } = found
  const isHeld = findHold(holds, entry.decisions.at(-1)?.topic ?? null) !== null
  return { ...entry, nextRetry: nextRetry && { ...nextRetry, isHeld } }
}

/** The distinct variables of an entry's texts; none if they were erased. */
export async function readVariables(pool: DatabasePool, locator: string): Promise<readonly Variables[]> {
  const row = z.object({ variables: storedVariables })
  return pool.anyFirst(sql.type(row)`
    SELECT DISTINCT variables FROM notifications.decision WHERE locator = ${locator} AND variables IS NOT NULL`)
}

function logEntryQuery(limits: GivenUpLimits, locator: string) {
  return sql.type(recordedRow)`
    SELECT ${listedColumns(limits)}, ${nextRetry(limits)} AS "nextRetry", ${selectHolds()}, ARRAY(
      SELECT json_build_object(
        'attempt', attempt, 'outcome', outcome, 'channel', channel, 'ruleId', rule_id, 'reason', reason,
        'facts', facts, 'templateRevision', template_revision, 'ruleTableRevision', rule_table_revision,
        'envelopeMap', (
          SELECT source FROM notifications.envelope_map WHERE revision = envelope_map_revision
        ),
        'receipt', receipt, 'recordedOnly', ${RECORDED_ONLY}, 'sendError', send_error,
        'decidedAt', ${isoTime(sql.fragment`decided_at`)}, 'erasedAt', ${isoTime(sql.fragment`erased_at`)},
        ${ORIGIN_IN_JSON},
        'retry', CASE WHEN retried_by IS NOT NULL THEN json_build_object('by', retried_by, 'because', retried_because)
          ELSE (SELECT json_build_object('by', requested_by, 'because', because) FROM notifications.request WHERE id = request_id) END,
        'request', request_id::text,
        'preferenceChange', (
          SELECT json_build_object(
            'changedAt', ${isoTime(sql.fragment`change.changed_at`)}, 'changedBy', change.changed_by,
            'optedOutAt', ${OPTED_OUT_SINCE}, 'withdrawnAt', ${WITHDRAWN_AT}
          )
          FROM notifications.preference_change AS change WHERE change.id = decision.preference_change_id
        )
      )
      FROM notifications.decision WHERE decision.locator = notification_log.locator ORDER BY attempt
    ) AS decisions
    FROM notifications.notification_log ${WITH_LAST} WHERE notification_log.locator = ${locator}`
}

function nextRetry(limits: GivenUpLimits) {
  const interval = sql.fragment`${RETRY_INTERVAL_MS}::float8 * interval '1 millisecond'`
  const at = sql.fragment`coalesce(last_attempt_at, created_at) + ${interval}`
  // The reader never sees a time in the past.
  const shownAt = sql.fragment`greatest(${at}, now() + ${interval} / 2)`
  return sql.fragment`CASE WHEN ${isToBeRetried(limits)} THEN json_build_object(
      'at', ${isoTime(shownAt)}, 'isOverdue', ${at} + ${interval} < now()
    ) END`
}

/** The characters that `String.trim` removes. */
const OUTER_SPACES =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

/** Folds like `foldEventType`, which made the decision itself. */
function folded(eventType: ReturnType<typeof sql.fragment>) {
  return sql.fragment`lower(btrim(${eventType}, ${OUTER_SPACES}))`
}

/** True if preferences in JSON opt out of a decision's event type. Another version may have stored something other than a list. */
function optsOut(preferences: ReturnType<typeof sql.fragment>) {
  return sql.fragment`EXISTS (
                SELECT FROM jsonb_path_query(${preferences}, 'lax $.optedOutEvents[*]') AS opt_out_name (name)
                WHERE ${folded(sql.fragment`name #>> '{}'`)} = ${folded(sql.fragment`decision.event_type`)}
              )`
}

/**
 * Start of the party's unbroken opt-out of a decision's event type, or null. Needs a row `decision` and the change of preferences
 * `change` before it.
 */
const OPTED_OUT_SINCE = sql.fragment`CASE WHEN ${optsOut(sql.fragment`change.after`)} THEN (
              SELECT ${isoTime(sql.fragment`opt_out.changed_at`)}
              FROM notifications.preference_change AS opt_out
              WHERE opt_out.party_locator = change.party_locator AND opt_out.id <= change.id
                AND NOT ${optsOut(sql.fragment`opt_out.before`)}
              ORDER BY opt_out.id DESC LIMIT 1
            ) END`

/** Time of the last change up to `change` that withdrew the party's opt-out of a decision's event type; null if it is in force. */
const WITHDRAWN_AT = sql.fragment`CASE WHEN NOT ${optsOut(sql.fragment`change.after`)} THEN (
              SELECT ${isoTime(sql.fragment`withdrawal.changed_at`)}
              FROM notifications.preference_change AS withdrawal
              WHERE withdrawal.party_locator = change.party_locator AND withdrawal.id <= change.id
                AND ${optsOut(sql.fragment`withdrawal.before`)} AND NOT ${optsOut(sql.fragment`withdrawal.after`)}
              ORDER BY withdrawal.id DESC LIMIT 1
            ) END`
