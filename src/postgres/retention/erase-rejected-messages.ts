import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { Rejected } from '../../core/event/rejected-message.ts'
import { readRejected } from '../read/list-rejected-messages.ts'
import { lockErasure } from './erasure-record.ts'

/** Size of one page. Values can be large. */
const SEARCHED_BYTES_MAX = 32 * 1024 * 1024
const SEARCHED_COUNT_MAX = 1_000
const idRow = z.object({ id: z.bigint() })

/** Every rejected message that was not erased, oldest first, in pages. */
export async function* rejectedToSearch(pool: DatabasePool): AsyncGenerator<readonly Rejected[]> {
  for (let after = 0n; ; ) {
    const ids: readonly bigint[] = await pool.anyFirst(sql.type(idRow)`
      SELECT id
      FROM (
        SELECT id, sum(octet_length(value)) OVER (ORDER BY id) - octet_length(value) AS bytes_before
        FROM (
          SELECT id, value FROM notifications.rejected_message
          WHERE id > ${after} AND erased_at IS NULL ORDER BY id LIMIT ${SEARCHED_COUNT_MAX}
        ) AS message
      ) AS message
      WHERE coalesce(bytes_before, 0) < ${SEARCHED_BYTES_MAX} ORDER BY id`)
    const last = ids.at(-1)
    if (last === undefined) return
    yield await readRejected(pool, { ids, topic: null, code: null, since: null, open: false }, 0n, ids.length)
    after = last
  }
}

/** Blanks rejected messages: key, value, headers and errors, which may quote them. Returns the number newly erased. */
export function eraseRejected(pool: DatabasePool, erasure: bigint, ids: readonly bigint[]): Promise<number> {
  return pool.transaction(async (tx) => {
    // Waits for running redrives: none may write the message back.
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
