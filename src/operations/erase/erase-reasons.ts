import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { sqlArray } from '../../service/store/sql/columns.ts'
import { fixedPart } from './find-mention.ts'
import { NAMING_FILTERS, type Naming, namesIn, namesInPart } from './names-in-text.ts'

export function findCheckpointReasons(pool: DatabasePool, naming: Naming): Promise<readonly bigint[]> {
  return pool.anyFirst(sql.type(z.object({ id: z.bigint() }))`
    SELECT id FROM notifications.checkpoint_change WHERE ${namesIn(sql.fragment`because`, naming)} ORDER BY id`)
}

/** Blanks the reasons of changes of checkpoints. */
export async function eraseCheckpointReasons(pool: DatabasePool, ids: readonly bigint[]): Promise<void> {
  await pool.query(sql.unsafe`
    UPDATE notifications.checkpoint_change SET because = 'erased' WHERE id = ANY(${sqlArray('int8', ids)})`)
}

const reasonRow = z.object({ kind: z.enum(['request', 'checkpoint']), id: z.bigint(), text: z.string() })
type Reason = Readonly<z.infer<typeof reasonRow>>

/** Reasons, notes and filters of requests, and reasons of changed checkpoints, that contain a locator without clearly naming it. */
export function readUnclearReasons(pool: DatabasePool, party: string): Promise<readonly Reason[]> {
  const isNaming = namesInPart(sql.fragment`name`, sql.fragment`text`, { names: [party], word: party })
  return pool.any(sql.type(reasonRow)`
    SELECT kind, id, text FROM (
      SELECT 'checkpoint' AS kind, id, 'reason' AS name, because AS text FROM notifications.checkpoint_change
      UNION ALL
      SELECT 'request', id, part.* FROM notifications.request, LATERAL (
        VALUES ('reason', because), ('reason', note)
        UNION ALL
        SELECT * FROM jsonb_each_text(target -> 'filter') WHERE key = ANY(${sqlArray('text', NAMING_FILTERS)})
      ) AS part
    ) AS part
    WHERE strpos(text, ${fixedPart(party)}) > 0 AND NOT ${isNaming} ORDER BY kind, id`)
}
