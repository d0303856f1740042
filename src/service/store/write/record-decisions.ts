import { type CommonQueryMethods, sql } from 'slonik'
import { type Attempt, type AttemptRequest, nextKeyNumber } from '../../decide/attempt/attempt.ts'
import type { Deliveries, Delivery } from '../../decide/attempt/delivery.ts'
import type { Move } from '../../decide/attempt/store.ts'
import { storable } from '../../text/sanitize.ts'
import { noRow, sqlArray, sqlColumns } from '../sql/columns.ts'
import { ORIGIN_NAMES, originArrays } from '../sql/origin-columns.ts'
import { moveCheckpoints } from './checkpoints.ts'

/** Appends a decision for each attempt and moves locked checkpoints, in one statement. */
export async function recordDecisions(
  tx: CommonQueryMethods,
  attempts: readonly Attempt[],
  deliveries: Deliveries,
  ruleTableRevision: string,
  moves: readonly Move[],
): Promise<void> {
  if (attempts.length === 0) {
    if (moves.length > 0)
      await tx.query(sql.prepared('move-checkpoints', noRow)`WITH ${moveCheckpoints(moves)} SELECT`)
    return
  }
  const insert = insertDecisions(attempts, deliveries, ruleTableRevision)
  if (moves.length === 0) await tx.query(sql.prepared('record-decisions', noRow)`${insert}`)
  else
    await tx.query(sql.prepared('record-decisions-and-move', noRow)`
      WITH recorded AS (${insert}), ${moveCheckpoints(moves)} SELECT`)
}

/** All columns but the facts and the revision of the rule table. */
const COLUMNS = sql.fragment`
  locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, reason, variables, template_revision,
  receipt, recorded_only, send_error, unknown_attempt, preference_change_id, retried_by, retried_because, request_id,
  ${ORIGIN_NAMES}`

function insertDecisions(attempts: readonly Attempt[], deliveries: Deliveries, ruleTableRevision: string) {
  const column = sqlColumns(attempts)
  const findDelivery = ({ locator }: Attempt) => deliveries.get(locator)
  // Facts repeat, and parsing them takes the server 2 µs each. It gets the distinct ones, and an index from 1 for each row.
  const numbers = new Map<string, number>()
  const findFactsNumber = ({ decision }: Attempt) => {
    const facts = JSON.stringify(decision.facts)
    const number = numbers.get(facts) ?? numbers.size + 1
    if (number > numbers.size) numbers.set(facts, number)
    return number
  }
  const factNumbers = column('int4', findFactsNumber)
  return sql.fragment`
    INSERT INTO notifications.decision (rule_table_revision, facts, ${COLUMNS})
    SELECT ${ruleTableRevision}, (${sqlArray('jsonb', [...numbers.keys()])})[facts], ${COLUMNS}
    FROM unnest(
      ${factNumbers},
      ${column('text', ({ locator }) => locator)},
      ${column('int4', ({ attemptCount }) => attemptCount)},
      ${column('text', ({ eventId }) => eventId)},
      ${column('text', ({ partyLocator }) => partyLocator)},
      ${column('text', ({ eventType }) => eventType)},
      ${column('text', ({ decision }) => decision.outcome)},
      ${column('text', ({ decision }) => decision.channel)},
      ${column('text', ({ decision }) => decision.ruleId)},
      ${column('text', ({ decision }) => decision.failureReason)},
      ${column('jsonb', ({ variables }) => (variables === null ? null : JSON.stringify(variables)))},
      ${column('text', findTemplateRevision)},
      ${column('text', (attempt) => findDelivery(attempt)?.receipt ?? null)},
      ${column('boolean', (attempt) => recordedOnlyText(findDelivery(attempt)))},
      ${column('text', (attempt) => findDelivery(attempt)?.error ?? null)},
      ${column('int4', (attempt) => nextUnknownKey(attempt, deliveries))},
      ${column('int8', ({ decision }) => decision.preferenceChangeId)},
      ${column('text', (attempt) => (isRetryOnRequest(attempt) ? storable(attempt.request.by) : null))},
      ${column('text', (attempt) => (isRetryOnRequest(attempt) ? storable(attempt.request.because) : null))},
      ${column('int8', ({ request }) => request?.id ?? null)},
      ${originArrays(column)}
    ) AS attempt (facts, ${COLUMNS})`
}

/** A retry that skips its row keeps the template of the text that it clears. */
function findTemplateRevision(attempt: Attempt): string | null {
  const text = attempt.text ?? (attempt.kind === 'stored retry' ? attempt.stored : null)
  return text?.templateRevision ?? null
}

/** A redrive is no retry: its request is named by its id alone. */
function isRetryOnRequest(attempt: Attempt): attempt is Attempt & { readonly request: AttemptRequest } {
  return attempt.request !== null && attempt.kind !== 'first'
}

/** The text `true` or `false` for the column; null without a receipt. */
function recordedOnlyText(delivery: Delivery | undefined): string | null {
  return delivery === undefined || delivery.receipt === null ? null : String(delivery.isRecorded === true)
}

/** An error proves nothing about earlier sends with the same key, so an unknown result stays unknown. */
function nextUnknownKey(attempt: Attempt, deliveries: Deliveries): number | null {
  const delivery = deliveries.get(attempt.locator)
  if (delivery === undefined || delivery.error === null) return null
  const wasUnknown = attempt.kind !== 'first' && attempt.before.unknownKey !== null
  return delivery.isUnknown === true || wasUnknown ? nextKeyNumber(attempt) : null
}
