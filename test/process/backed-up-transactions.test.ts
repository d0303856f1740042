// EVENTS (1,800) committed events in each of PASSES (1); `make soak-transactions` runs 10 passes of 15,000.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { withTransactions } from '../stack/topics.ts'
import { anEvent, createWorld, type World } from '../stack/world.ts'

const skip = process.env.KAFKA_KIND === 'mock' && 'the mock broker has no transactions'
const eventCount = Number(process.env.EVENTS ?? 1_800)
const passCount = Number(process.env.PASSES ?? 1)

const TRANSACTION_EVENT_COUNT = 60
/** With 1 kB in each event, a partition's queue is full within a pulse. */
const FILLING = 'x'.repeat(900)
const PULSE_MS = 3_200
const LOCKED_MS = 2_500

/** Locks the log table in pulses until the signal aborts, so that batches wait and the partition backs up. */
async function lockInPulses({ databaseUrl }: World, signal: AbortSignal): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const pause = (durationMs: number) => sleep(durationMs, undefined, { signal }).catch(() => {})
  while (!signal.aborted) {
    await client.query('BEGIN; LOCK TABLE notifications.notification_log IN EXCLUSIVE MODE')
    await pause(LOCKED_MS)
    await client.query('COMMIT')
    await pause(PULSE_MS - LOCKED_MS)
  }
  await client.end()
}

/** Commits and aborts in turn. Returns the committed event ids. */
function publishInTurn({ brokers, topics }: World, pass: number): Promise<string[]> {
  return withTransactions(brokers, [`${topics.claims}-${pass}`], async ([producer]) => {
    const committed: string[] = []
    for (let number = 0; committed.length < eventCount; number++) {
      const events = Array.from({ length: TRANSACTION_EVENT_COUNT }, (_, i) =>
        anEvent({ eventId: `${pass}-${number}-${i}`, filling: FILLING }),
      )
      const transaction = await producer?.transaction()
      await transaction?.send({ topic: topics.claims, messages: events.map(({ value }) => ({ value })) })
      await (number % 2 === 0 ? transaction?.abort() : transaction?.commit())
      if (number % 2 === 1) committed.push(...events.map(({ eventId }) => eventId))
    }
    return committed
  })
}

// After a pause the consumer fetched one batch again and cut it off. Where that was the marker of an aborted
// transaction, the filter dropped the next committed transaction of its producer.
t.test(
  'each committed event gets its row while its partition backs up',
  { skip, timeout: 120_000 + passCount * eventCount * 20 },
  async (t) => {
    const world = await createWorld({ partitionCount: 1 })
    t.teardown(() => world.close())
    await world.serve()
    for (let pass = 1; pass <= passCount; pass++) {
      const published = new AbortController()
      const locking = lockInPulses(world, published.signal)
      const committed = await publishInTurn(world, pass).finally(() => published.abort())
      await locking
      await world.caughtUp()
      const rows = await world.sql(
        'SELECT event_id FROM notifications.notification_log WHERE event_id LIKE $1',
        [`${pass}-%`],
      )
      const logged = new Set(rows.map(({ event_id }) => event_id as string))
      const missing = committed.filter((eventId) => !logged.has(eventId))
      t.strictSame([missing.length, logged.size], [0, committed.length], `pass ${pass}: missing, rows`)
      t.comment(`pass ${pass}: ${committed.length} committed, ${missing.length} missing, ${logged.size} rows`)
    }
  },
)
