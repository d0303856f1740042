import { type CommonQueryMethods, sql } from 'slonik'
import type { Message } from '../../decide/event/message.ts'
import type { TopicPartition } from '../../decide/event/position.ts'
import type { RejectedMessage } from '../../decide/event/rejected-message.ts'
import { storable } from '../../text/sanitize.ts'
import { sqlColumns } from '../sql/columns.ts'
import { cutBytes, keptHeaders, notKept } from '../sql/cut-large-message.ts'

/**
 * Stores rejected messages in one statement. A key or value above `VALUE_BYTES_MAX` is cut to its first bytes, and its hash is
 * added to the error; the headers are cut to the same size. A message already stored stays unchanged.
 *
 * @param skippedTo the last offset that the message stands for, if it is a skipped batch
 */
export async function insertRejectedMessages(
  tx: CommonQueryMethods,
  { topic, partition }: TopicPartition,
  rejected: readonly RejectedMessage[],
  skippedTo: bigint | null = null,
): Promise<void> {
  if (rejected.length === 0) return
  const column = sqlColumns(rejected)
  await tx.query(sql.unsafe`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", key, value, headers, code, error, skipped_to)
    SELECT ${topic}, ${partition}::integer, "offset", decode(key, 'base64'), decode(value, 'base64'), headers, code, error,
      ${skippedTo}::bigint
    FROM unnest(
      ${column('int8', ({ message }) => message.offset)},
      ${column('text', ({ message }) => base64(cutBytes(message.key)))},
      ${column('text', ({ message }) => base64(cutBytes(message.value)))},
      ${column('jsonb', ({ message }) => headersJson(message.headers))},
      ${column('text', ({ rejection }) => rejection.code)},
      ${column('text', ({ message, rejection }) => storable(rejection.error + notKept(message)))}
    ) AS rejected ("offset", key, value, headers, code, error)
    ON CONFLICT (topic, partition_id, "offset", value_sha256) DO NOTHING`)
}

// Base64 text, because an array parameter of bytea cannot contain a null.
function base64(bytes: Uint8Array | null): string | null {
  return bytes === null
    ? null
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

function headersJson(headers: Message['headers']): string {
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(keptHeaders(headers).kept).map(([name, values]) => [storable(name), values.map(base64)]),
    ),
  )
}
