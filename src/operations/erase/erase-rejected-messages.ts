import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { lockErasure } from '../../service/store/sql/advisory-locks.ts'
import { sqlArray } from '../../service/store/sql/columns.ts'
import { fixedPart } from './find-mention.ts'

/** Errors of redrives and dismissals that may contain a party's locator, by message, oldest first. */
export async function readRedriveErrors(
  pool: DatabasePool,
  party: string,
  messages: readonly bigint[],
): Promise<ReadonlyMap<bigint, readonly string[]>> {
  const rows = await pool.any(sql.type(z.object({ id: z.bigint(), errors: z.array(z.string()) }))`
    SELECT rejected_message_id AS id, array_agg(error ORDER BY id) AS errors FROM notifications.redrive
    WHERE rejected_message_id = ANY(${sql.array([...messages], 'int8')}) AND strpos(error, ${fixedPart(party)}) > 0
    GROUP BY rejected_message_id`)
  return new Map(rows.map(({ id, errors }) => [id, errors]))
}

/**
 * Blanks errors of rejected messages and their redrives, these texts or all. A skip and a dismissal store the operator's reason
 * there.
 */
export async function eraseErrors(
  pool: DatabasePool,
  messages: readonly bigint[],
  texts?: readonly string[],
): Promise<void> {
  const ids = sql.array([...messages], 'int8')
  const names = texts
    ? sql.fragment`error = ANY(${sqlArray('text', texts)})`
    : sql.fragment`error <> 'erased'`
  await pool.query(sql.unsafe`
    WITH redriven AS (
      UPDATE notifications.redrive SET error = 'erased' WHERE rejected_message_id = ANY(${ids}) AND ${names}
    )
    UPDATE notifications.rejected_message SET error = 'erased' WHERE id = ANY(${ids}) AND ${names}`)
}

/** Blanks rejected messages: key, value, headers and errors, which may quote them. Returns the number newly erased. */
export function eraseRejected(pool: DatabasePool, erasure: bigint, ids: readonly bigint[]): Promise<number> {
  return pool.transaction(async (tx) => {
    // Waits for running redrives, so that none writes the message back.
    await lockErasure(tx)
    return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    WITH erased AS (
      UPDATE notifications.rejected_message
      SET erased_at = now(), erased_sha256 = value_sha256, key = NULL, value = NULL, headers = '{}',
        error = 'erased'
      WHERE id = ANY(${sql.array([...ids], 'int8')}) AND erased_at IS NULL RETURNING id
    ), redriven AS (
      UPDATE notifications.redrive SET error = 'erased'
      WHERE rejected_message_id IN (SELECT id FROM erased) AND error IS NOT NULL
    ), counted AS (
      UPDATE notifications.erasure
      SET rejected_messages = rejected_messages + (SELECT count(*) FROM erased) WHERE id = ${erasure}
    )
    SELECT count(*)::integer AS count FROM erased`)
  })
}
