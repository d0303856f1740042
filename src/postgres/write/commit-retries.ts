import { type CommonQueryMethods, type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import { z } from 'zod'
import type { RetriedEntry } from '../../core/log/retry.ts'
import { databaseMessage, refusesData } from '../connection/errors.ts'
import { columnOf } from '../sql/columns.ts'
import { type Delivery, insertDecisions, insertEntries, markSendFailures } from './insert-entries.ts'
import { knownGood, refusal } from './trial.ts'

/** Hands rows to the senders; resolves to what became of each, by locator. Must not reject. */
export type DeliverRetries = (retried: readonly RetriedEntry[]) => Promise<ReadonlyMap<string, Delivery>>

const PROBE = 'probe'

/** Where a row that PostgreSQL refuses is reported. */
interface RefusalLog {
  error(fields: { locator: string; error: string }, message: string): void
}

/**
 * Carries out decided retries in one transaction: lock, update, send, append the decisions. A row that another replica
 * holds, that has changed since it was read, or that no decision explains is left alone and not sent. Returns the
 * retries that were made.
 *
 * Where PostgreSQL refuses the data, the rows are tried again by halves, each in a transaction of its own, until the
 * refused rows stand alone: those stay as they are and are logged, the others are made. First a known-good row is
 * retried and rolled back: if that is refused too, the schema is at fault and the refusal is thrown. The senders are
 * called again for the rows of a transaction that was rolled back, with the same idempotency key. Rejects on every
 * other error; the halves made before it stand.
 */
export async function commitRetries(
  pool: DatabasePool,
  ruleTableRevision: string,
  retried: readonly RetriedEntry[],
  deliver: DeliverRetries,
  log: RefusalLog,
): Promise<readonly RetriedEntry[]> {
  const attempt = (part: readonly RetriedEntry[]) => commitTogether(pool, ruleTableRevision, part, deliver)
  /** `error` is what the rows together were refused by. */
  const commitByHalves = async (part: readonly RetriedEntry[], error: Error): Promise<RetriedEntry[]> => {
    const [only, ...others] = part
    if (only !== undefined && others.length === 0) {
      log.error(
        { locator: only.due.locator, error: databaseMessage(error) },
        'the database refuses the retry of a row, which stays as it is; the next pass tries it again',
      )
      return []
    }
    const middle = part.length >> 1
    const made: RetriedEntry[] = []
    for (const half of [part.slice(0, middle), part.slice(middle)])
      made.push(...(await attempt(half).catch(ifRefused((refused) => commitByHalves(half, refused)))))
    return made
  }
  return attempt(retried).catch(
    ifRefused(async (refused) => {
      const schemaFault = await pool.transaction((tx) => refusalOfKnownGood(tx, ruleTableRevision))
      if (schemaFault !== null) throw schemaFault
      return commitByHalves(retried, refused)
    }),
  )
}

/** Handles errors by which PostgreSQL refuses the data; throws all others. */
function ifRefused<T>(handle: (error: Error) => Promise<T>) {
  return (error: unknown): Promise<T> => {
    if (error instanceof Error && refusesData(error)) return handle(error)
    throw error
  }
}

async function refusalOfKnownGood(
  tx: DatabaseTransactionConnection,
  ruleTableRevision: string,
): Promise<Error | null> {
  const entry = knownGood(`NTF-${PROBE}`)
  const retried: RetriedEntry = {
    due: {
      locator: entry.locator,
      eventId: PROBE,
      eventType: PROBE,
      partyLocator: null,
      subject: PROBE,
      body: PROBE,
      attemptCount: 0,
    },
    decision: entry.decision,
    status: 'FAILED',
    attemptCount: 1,
    address: null,
  }
  return refusal(tx, async (savepoint) => {
    await insertEntries(savepoint, [entry])
    await insertDecisions(savepoint, [entry], new Map(), { topic: PROBE, partition: 0, ruleTableRevision })
    await update(savepoint, [retried])
    await appendDecisions(savepoint, [retried], new Map(), ruleTableRevision)
  })
}

function commitTogether(
  pool: DatabasePool,
  ruleTableRevision: string,
  retried: readonly RetriedEntry[],
  deliver: DeliverRetries,
): Promise<readonly RetriedEntry[]> {
  return pool.transaction(async (tx) => {
    const locked = await lockUnchanged(tx, retried)
    const mine = retried.filter(({ due }) => locked.has(due.locator))
    if (mine.length === 0) return []
    await update(tx, mine)
    const deliveries = await deliver(mine)
    await markSendFailures(tx, deliveries)
    await appendDecisions(tx, mine, deliveries, ruleTableRevision)
    return mine
  })
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
