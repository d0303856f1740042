import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { LockedRow } from '../../decide/attempt/attempt.ts'
import type { RetryEntry } from '../../decide/attempt/retry-entry.ts'
import { readStated } from '../../decide/decision/facts.ts'
import { origin, storedFacts, storedVariables } from '../../decide/decision/recorded-decision.ts'
import { shareErasure } from '../sql/advisory-locks.ts'
import { sqlColumns } from '../sql/columns.ts'
import { selectLastDecision } from '../sql/log-columns.ts'
import { ORIGIN_COLUMNS } from '../sql/origin-columns.ts'

const lockedRow = origin.extend({
  locator: z.string(),
  variables: storedVariables.nullable(),
  templateRevision: z.string().nullable(),
  facts: storedFacts,
  reason: z.string().nullable(),
})

/** See `Transaction`. Also leaves out rows with a decision of a later attempt (an import, tampering). */
export async function lockEntries(
  tx: CommonQueryMethods,
  due: readonly RetryEntry[],
  isRequested: boolean,
): Promise<ReadonlyMap<string, LockedRow>> {
  // An erasure does not wait for a skipped row, which has no text: a retry must not render one for an erased party.
  if (isRequested) await shareErasure(tx)
  const column = sqlColumns(due)
  const notErased = sql.fragment`WHERE NOT EXISTS (
    SELECT FROM notifications.erasure WHERE erasure.party_locator IN (notification_log.party_locator, due.party_locator)
  )`
  const last = selectLastDecision(sql.fragment`
    attempt, erased_at, ${ORIGIN_COLUMNS}, variables, template_revision AS "templateRevision", facts, reason`)
  const rows = await tx.any(sql.type(lockedRow)`
    SELECT notification_log.locator, last.*
    FROM notifications.notification_log
    JOIN unnest(
      ${column('text', ({ locator }) => locator)},
      ${column('int4', ({ attemptCount }) => attemptCount)},
      ${column('text', ({ status }) => status)},
      ${column('text', ({ partyLocator }) => partyLocator)}
    ) AS due (locator, attempt_count, status, party_locator) USING (locator, attempt_count, status)
    JOIN LATERAL (${last}) AS last ON last.attempt <= notification_log.attempt_count AND last.erased_at IS NULL
    ${isRequested ? notErased : sql.fragment``}
    FOR UPDATE OF notification_log SKIP LOCKED`)
  return new Map(
    rows.map(({ locator, variables, templateRevision, facts, reason, ...origin }) => [
      locator,
      { origin, variables, templateRevision, stated: readStated({ facts, reason }) },
    ]),
  )
}
