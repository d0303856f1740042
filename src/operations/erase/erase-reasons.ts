import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { namePattern } from './find-mention.ts'

export function countCheckpointReasons(pool: DatabasePool, party: string): Promise<number> {
  return pool.oneFirst(sql.type(z.object({ count: z.number() }))`
    SELECT count(*)::integer AS count FROM notifications.checkpoint_change WHERE because ~ ${namePattern(party)}`)
}

/** Blanks the reasons of changes of checkpoints that name a party. */
export async function eraseCheckpointReasons(pool: DatabasePool, party: string): Promise<void> {
  await pool.query(sql.unsafe`
    UPDATE notifications.checkpoint_change SET because = 'erased' WHERE because ~ ${namePattern(party)}`)
}
