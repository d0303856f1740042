import t from 'tap'
import { previewRequest } from '../../../src/operations/requests/preview-request.ts'
import { openDatabase } from '../../service/store/fixtures.ts'

t.test('the preview of a redrive names the messages that it leaves unchanged', async (t) => {
  const { pool, client } = await openDatabase(t)
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, code, error, erased_at, erased_sha256)
    SELECT 'claims', 0, row_number() OVER (), '{}', code, 'error', CASE WHEN is_erased THEN now() END, CASE WHEN is_erased THEN sha256('') END
    FROM (VALUES
      ('event-id', false), ('event-id', false), ('event-id', false), ('event-id', true), ('conflict', true),
      ('too-large', false)
    ) AS message (code, is_erased)`)
  const target = { filter: { upTo: '999999999999999' } }
  const preview = (kind: 'redrive' | 'dismiss') =>
    previewRequest(pool, { maxAgeMs: 1, attemptCountMax: 1 }, { kind, target })
  t.match(await preview('redrive'), {
    count: 6,
    ages: { day: 3, week: 0, older: 0 },
    groups: [
      { reason: 'event-id', isUnchanged: false, count: 3 },
      { reason: 'it was erased', isUnchanged: true, count: 2 },
      { reason: /published again, in smaller messages/, isUnchanged: true, count: 1 },
    ],
  })
  await client.query(
    `UPDATE notifications.rejected_message SET rejected_at = now() - interval '40 days' WHERE code = 'event-id' AND "offset" = 2`,
  )
  t.match(await preview('redrive'), { ages: { day: 2, week: 0, older: 1 } })
  const dismissed = await preview('dismiss')
  t.notOk(dismissed.groups.some(({ isUnchanged }) => isUnchanged))
})
