import { type CommonQueryMethods, type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import { z } from 'zod'
import type { Entry } from '../../core/log/entry.ts'
import type { RetriedEntry } from '../../core/log/retry.ts'
import { databaseMessage } from '../connection/errors.ts'
import { columnOf } from '../sql/columns.ts'
import { findRefused, tryWrite, writeUnlessRefused } from './find-refused.ts'
import { type Delivery, insertDecisions, insertEntries, markSendFailures } from './insert-entries.ts'
import { probeEntry } from './probe-entry.ts'

/** Hands rows to the senders; resolves to what became of each, by locator. Must not reject. */
export type DeliverRetries = (retried: readonly RetriedEntry[]) => Promise<ReadonlyMap<string, Delivery>>

/** Where a row that PostgreSQL refuses is reported. */
interface RefusalLog {
  error(fields: { locator: string; error: string }, message: string): void
}

/**
 * Carries out decided retries in one transaction: lock, update, send, append the decisions. A row that another replica
 * holds, that has changed since it was read, or that no decision explains is left alone and not sent. Rows that
 * PostgreSQL refuses are found before anything is sent: they stay as they are and are logged. Returns the retries that
 * were made. Rejects on every other error, and where the schema refuses any row: then none was made.
 */
export function commitRetries(
  pool: DatabasePool,
  ruleTableRevision: string,
  retried: readonly RetriedEntry[],
  deliver: DeliverRetries,
  log: RefusalLog,
): Promise<readonly RetriedEntry[]> {
  return pool.transaction(async (tx) => {
    const locked = await lockUnchanged(tx, retried)
    const mine = retried.filter(({ due }) => locked.has(due.locator))
    const accepted = await updateAccepted(tx, mine, ruleTableRevision, log)
    if (accepted.length === 0) return []
    const deliveries = await deliver(accepted)
    await markSendFailures(tx, deliveries)
    await appendDecisions(tx, accepted, deliveries, ruleTableRevision)
    return accepted
  })
}

/** Updates the rows that PostgreSQL takes with their decisions, logs the others, and returns those updated. */
async function updateAccepted(
  tx: DatabaseTransactionConnection,
  retried: readonly RetriedEntry[],
  ruleTableRevision: string,
  log: RefusalLog,
): Promise<readonly RetriedEntry[]> {
  if (retried.length === 0) return []
  // The decisions can be written only with the senders' receipts: until then they are only tried.
  const write = async (savepoint: DatabaseTransactionConnection, part: readonly RetriedEntry[]) => {
    await update(savepoint, part)
    const error = await tryWrite(savepoint, (inner) =>
      appendDecisions(inner, part, new Map(), ruleTableRevision),
    )
    if (error !== null) throw error
  }
  const isTaken = (await writeUnlessRefused(tx, (savepoint) => write(savepoint, retried))) === null
  if (isTaken) return retried
  const refused = await findRefused(tx, retried, write, async (savepoint) => {
    const probe = probeEntry()
    await insertEntries(savepoint, [probe])
    await insertDecisions(savepoint, [probe], new Map(), { topic: 'probe', partition: 0, ruleTableRevision })
    await write(savepoint, [retryOf(probe)])
  })
  for (const [{ due }, error] of refused) {
    log.error(
      { locator: due.locator, error: databaseMessage(error) },
      'the database refuses the retry of a row, which stays as it is; the next pass tries it again',
    )
  }
  const accepted = retried.filter((retry) => !refused.has(retry))
  await update(tx, accepted)
  return accepted
}

function retryOf({ locator, event, decision }: Entry): RetriedEntry {
  const { eventId, eventType, partyLocator } = event
  const due = { locator, eventId, eventType, partyLocator, subject: '', body: '', attemptCount: 0 }
  return { due, decision, status: 'FAILED', attemptCount: 1, address: null }
}

async function lockUnchanged(
  tx: CommonQueryMethods,
  retried: readonly RetriedEntry[],
): Promise<ReadonlySet<string>> {
  const column = columnOf(retried)
  const locked = await tx.anyFirst(sql.type(z.object({ locator: z.string() }))`
    SELECT notification_log.locator
    FROM notifications.notification_log
    JOIN unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('int4', ({ due }) => due.attemptCount)}
    ) AS due (locator, attempt_count) USING (locator, attempt_count)
    WHERE status = 'FAILED'
      -- What no decision explains (an import, tampering) could not be explained after the retry either.
      AND EXISTS (SELECT FROM notifications.decision WHERE decision.locator = notification_log.locator)
    FOR UPDATE OF notification_log SKIP LOCKED`)
  return new Set(locked)
}

async function update(tx: CommonQueryMethods, retried: readonly RetriedEntry[]): Promise<void> {
  const column = columnOf(retried)
  await tx.query(sql.unsafe`
    UPDATE notifications.notification_log
    SET
      status = retried.status,
      channel = retried.channel,
      failure_reason = retried.failure_reason,
      attempt_count = retried.attempt_count,
      last_attempt_at = now(),
      sent_at = CASE WHEN retried.status = 'SENT' THEN now() END,
      -- A skipped row stores no text.
      subject = CASE WHEN retried.status <> 'SKIPPED' THEN subject END,
      body = CASE WHEN retried.status <> 'SKIPPED' THEN body END
    FROM unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('text', ({ status }) => status)},
      ${column('text', ({ decision }) => decision.channel)},
      ${column('text', ({ decision }) => decision.failureReason)},
      ${column('int4', ({ attemptCount }) => attemptCount)}
    ) AS retried (locator, status, channel, failure_reason, attempt_count)
    WHERE notification_log.locator = retried.locator`)
}

/** What does not change between attempts (variables, template, where the event came from) is the first decision's. */
async function appendDecisions(
  tx: CommonQueryMethods,
  retried: readonly RetriedEntry[],
  deliveries: ReadonlyMap<string, Delivery>,
  ruleTableRevision: string,
): Promise<void> {
  const column = columnOf(retried)
  await tx.query(sql.unsafe`
    INSERT INTO notifications.decision (
      locator, attempt, outcome, channel, rule_id, reason, facts, receipt, send_error, preference_change_id,
      rule_table_revision, event_id, party_locator, event_type, variables, template_revision,
      topic, partition_id, "offset", trace_id
    )
    SELECT
      retried.*, ${ruleTableRevision}, first.event_id, first.party_locator, first.event_type, first.variables,
      first.template_revision, first.topic, first.partition_id, first."offset", first.trace_id
    FROM unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('int4', ({ attemptCount }) => attemptCount)},
      ${column('text', ({ decision }) => decision.outcome)},
      ${column('text', ({ decision }) => decision.channel)},
      ${column('text', ({ decision }) => decision.ruleId)},
      ${column('text', ({ decision }) => decision.failureReason)},
      ${column('jsonb', ({ decision }) => JSON.stringify(decision.facts))},
      ${column('text', ({ due }) => deliveries.get(due.locator)?.receipt ?? null)},
      ${column('text', ({ due }) => deliveries.get(due.locator)?.error ?? null)},
      ${column('int8', ({ decision }) => decision.preferenceChangeId)}
    ) AS retried (
      locator, attempt, outcome, channel, rule_id, reason, facts, receipt, send_error, preference_change_id
    )
    JOIN LATERAL (
      SELECT * FROM notifications.decision
      WHERE decision.locator = retried.locator ORDER BY attempt LIMIT 1
    ) AS first ON true`)
}
