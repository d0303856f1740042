import t, { type Test } from 'tap'
import { anEvent, aWorld, type TopicName } from '../stack/world.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

const TOPICS: TopicName[] = ['claims', 'billing', 'enrollment']
const PARTITION_COUNT = 4

const world = await aWorld(t, { partitionCount: PARTITION_COUNT })
await world.serve({ BATCH_MAX: '100' })

/** An event with the id of another, that says something else. */
const repeated = (eventId: string) =>
  anEvent({ eventId, eventType: 'claim.approved', partyLocator: 'party-second' })

/** Asserts that an event has one row, one decision and so one receipt, all of the message at that offset. */
async function happenedOnce(
  t: Test,
  eventId: string,
  { topic = 'claims', partition, offset }: { topic?: TopicName; partition: number; offset: string },
) {
  const row = onlyRowOf(await rowsOf(world, 'notification_log'), { eventId })
  t.equal(row.event_type, 'claim.paid')
  t.equal(row.party_locator, 'party-1')
  t.equal(row.attempt_count, 1)
  const decision = onlyRowOf(await rowsOf(world, 'decision'), { eventId })
  t.equal(decision.locator, row.locator)
  t.type(decision.receipt, 'string')
  t.equal(decision.topic, world.topics[topic])
  t.equal(decision.partition_id, partition)
  t.equal(decision.offset, offset)
}

t.test('an event that comes again later, in whatever partition or topic, changes nothing', async (t) => {
  const { eventId, value } = anEvent()
  await world.publish([{ partition: 0, value }])
  await world.caughtUp()
  const requestCount = world.policyAdministration.requests.count
  for (const topic of TOPICS) {
    for (const partition of [0, 1]) {
      await world.publish([
        { topic, partition, value },
        { topic, partition, value: repeated(eventId).value },
      ])
      await world.caughtUp()
    }
  }
  await happenedOnce(t, eventId, { partition: 0, offset: '0' })
  t.equal(world.policyAdministration.requests.count, requestCount, 'nobody is looked up again')
})

t.test('of 1,000 in one batch the first is the one that counts', async (t) => {
  const { eventId, value } = anEvent()
  const others = Array.from({ length: 999 }, () => ({ partition: 2, value: repeated(eventId).value }))
  await world.publish([{ partition: 2, value }, ...others])
  await world.caughtUp()
  await happenedOnce(t, eventId, { partition: 2, offset: '0' })
})

t.test('the same events at once in every partition, in other orders, each happen once', async (t) => {
  const before = (await rowsOf(world, 'decision')).length
  const events = Array.from({ length: 300 }, () => anEvent())
  const shuffled = (seed: number) => events.map((_, i) => events[(i * 7 + seed * 31) % events.length])
  const places = TOPICS.flatMap((topic) =>
    Array.from({ length: PARTITION_COUNT }, (_, partition) => ({ topic, partition })),
  )
  await world.publish(
    places.flatMap((place, seed) =>
      shuffled(seed).map((event) => ({ ...place, value: event?.value ?? null })),
    ),
  )
  await world.caughtUp()
  const [counts] = await world.sql(
    `SELECT count(*)::int AS decisions, count(DISTINCT receipt)::int AS receipts, count(DISTINCT event_id)::int AS ids,
       (SELECT count(*)::int FROM notifications.notification_log WHERE event_id = ANY($1)) AS rows
     FROM notifications.decision WHERE event_id = ANY($1)`,
    [events.map(({ eventId }) => eventId)],
  )
  t.strictSame(counts, { rows: 300, decisions: 300, receipts: 300, ids: 300 })
  t.equal((await rowsOf(world, 'decision')).length, before + 300)
})

t.test('a duplicate is no error', async (t) => {
  t.strictSame(await rowsOf(world, 'rejected_message'), [])
})
