import { sql } from 'slonik'
import { z } from 'zod'

export const checkpointRow = z.object({
  offset: z.bigint(),
  lastMessage: z.object({ offset: z.coerce.bigint(), sha256: z.string() }).nullable(),
})

/** The columns of a checkpoint and its last message, and their tables. */
export const CHECKPOINT_COLUMNS = sql.fragment`
  checkpoint."offset", CASE WHEN sha256 IS NOT NULL
    THEN json_build_object('offset', message."offset"::text, 'sha256', sha256) END AS "lastMessage"`
export const WITH_LAST_MESSAGE = sql.fragment`
  notifications.projection_checkpoints AS checkpoint
  LEFT JOIN notifications.checkpoint_message AS message
    ON (message.topic, message.partition_id, message.checkpoint) =
      (checkpoint.topic, checkpoint.partition_id, checkpoint."offset")`
