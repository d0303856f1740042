import { type CommonQueryMethods, sql } from 'slonik'
import type { RedriveResult } from '../../decide/event/rejected-message.ts'
import { storable } from '../../text/sanitize.ts'

export async function recordRedrive(
  tx: CommonQueryMethods,
  rejectedId: bigint,
  by: string,
  result: RedriveResult,
): Promise<void> {
  const { locator = null, code = null, error = null } = result as Partial<Record<string, string>>
  await tx.query(sql.unsafe`
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, locator, code, error)
    VALUES (${rejectedId}, ${storable(by)}, ${result.result}, ${locator}, ${code}, ${error})`)
}
