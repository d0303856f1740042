import t from 'tap'
import { createJudges } from '../../../src/service/app/judges.ts'
import { createNotices } from '../../../src/service/app/notices.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import { openDatabase } from '../store/fixtures.ts'

const HOUR_MS = 3_600_000
const { pool, client } = await openDatabase(t)

const member = (version: string, replica: string) => ({
  ...{ host: 'h1', client: 'notifications', topics: ['claims'], owned: ['claims/0'] },
  ...{ isStranger: false, otherProtocol: null },
  build: {
    ...{ version, replica, startedMs: Date.now() - HOUR_MS },
    ...{ ruleTableRevision: 'a', envelopeMapRevision: null },
  },
})

t.test('each minute this replica announces itself, and all that is around it is judged', async (t) => {
  await client.query(`
    INSERT INTO notifications.replica (id, group_id, topics, database_oid)
    SELECT gen_random_uuid(), 'staging', '{claims}', oid FROM pg_database WHERE datname = current_database()`)
  await client.query(`
    INSERT INTO notifications.notification_log
      (locator, event_id, event_type, channel, status, subject, body, attempt_count, sent_at, created_at)
    SELECT 'NTF-' || gen_random_uuid(), n, CASE n WHEN 1 THEN 'policy.issued' ELSE 'claim.paid' END, 'EMAIL', 'SENT', 's', 's', 1,
      now(), now() - CASE n WHEN 1 THEN interval '2 days' ELSE interval '5 minutes' END
    FROM generate_series(1, 901) AS n`)
  const here = member('1.0.0', crypto.randomUUID())
  const stranger = { ...here, client: 'billing-report', isStranger: true, build: null }
  let announcementCount = 0
  const { judges } = createJudges(
    { groupId: 'production', topics: ['claims'] },
    { listMembers: async () => [here, member('1.1.0', crypto.randomUUID()), stranger] },
    { pool: () => pool, listPool: () => pool },
    async () => void announcementCount++,
  )
  const notices = createNotices(judges, createLog('silent'))
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + HOUR_MS
  await notices.update()
  t.equal(announcementCount, 1)
  t.strictSame(
    notices.list().map(({ subject }) => subject),
    [
      'the replicas of the consumer group',
      'other programs in the consumer group',
      'other consumer groups on this database',
      'members of the consumer group on another database',
      'the clocks of this machine and of the database',
      'how much is sent',
    ],
  )
})
