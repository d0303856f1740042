import t from 'tap'
import { createAnnouncer } from '../../../src/service/app/announce.ts'
import { until } from '../../stack/until.ts'
import { openDatabase } from '../store/fixtures.ts'

const { pool, client } = await openDatabase(t)

t.test('the other replicas learn of a trouble, again and again while it lasts, and of its end', async (t) => {
  const monotonicMs = performance.now.bind(performance)
  const stopping = new AbortController()
  t.teardown(() => {
    stopping.abort()
    performance.now = monotonicMs
  })
  let lookUps: string | null = null
  let isReached = false
  const announcer = createAnnouncer(
    { id: crypto.randomUUID(), groupId: 'production', topics: ['claims'], ruleTableRevision: 'a' },
    () => {
      if (isReached) return pool
      isReached = true
      throw new Error('not reached yet')
    },
    () => ({ lookUps, lookUpsFailSince: null, blocked: [] }),
  )
  void announcer.watch(stopping.signal)
  const recorded = async () => {
    const { rows } = await client.query(
      `SELECT troubles ->> 'lookUps' AS "lookUps", seen_at FROM notifications.replica`,
    )
    return rows[0]
  }
  lookUps = 'policy administration is down'
  const first = await until(recorded, {
    what: 'the trouble to be recorded, after a failure',
    timeoutMs: 20_000,
  })
  t.equal(first.lookUps, lookUps)
  performance.now = () => monotonicMs() + 15_000
  await until(async () => (await recorded()).seen_at > first.seen_at, {
    what: 'the trouble to be repeated',
    timeoutMs: 20_000,
  })
  lookUps = null
  await until(async () => (await recorded()).lookUps === null, {
    what: 'its end to be recorded',
    timeoutMs: 20_000,
  })
})
