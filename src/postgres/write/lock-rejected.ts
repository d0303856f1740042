import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'

/** False if a rejected message is gone. Two redrives of it need no lock: they meet at the unique event id. */
export async function lockRejected(tx: CommonQueryMethods, id: bigint): Promise<boolean> {
  const found = await tx.maybeOneFirst(sql.type(z.object({ id: z.bigint() }))`
    SELECT id FROM notifications.rejected_message WHERE id = ${id}`)
  return found !== null
}
