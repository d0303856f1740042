// node test/stack/with-stack.ts -- node test/soak/transactions.ts
// Five producers open, write, commit and abort transactions at random, STEPS (5,000) steps for each of SEEDS (20): the
// rows must be exactly what Kafka's own Java client reads as committed. Keys are integers of four bytes, such as those by
// which the broker marks the end of a transaction. Exits 1 where that does not hold.
import type { Producer } from 'kafkajs'
import { numberFrom } from '../stack/environment.ts'
import { type OffsetRange, readCommitted } from '../stack/kafka/read-committed.ts'
import { createRandom } from '../stack/random.ts'
import { endOffsets, type Offsets, withTransactions } from '../stack/topics.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { result, say } from './report.ts'

const PRODUCER_COUNT = 5
const PARTITION_COUNT = 2

const stepCount = numberFrom('STEPS', 5_000)
const seedCount = numberFrom('SEEDS', 20)
const world = await createWorld({ partitionCount: PARTITION_COUNT })
const { brokers } = world
const topic = world.topics.claims
const findings: Record<string, boolean> = {}
try {
  await world.spawn({ LOG_LEVEL: 'info' })
  let from: Offsets = {}
  for (let seed = 1; seed <= seedCount; seed++) {
    const ids = Array.from({ length: PRODUCER_COUNT }, (_, i) => `${topic}-${seed}-${i}`)
    const written = await withTransactions(brokers, ids, (producers) =>
      Promise.all(producers.map((producer, i) => work(producer, seed * PRODUCER_COUNT + i))),
    )
    const ends = await endOffsets(brokers, topic)
    await world.caughtUp()
    const committed = await readCommitted(brokers, rangesOf(from, ends))
    const expected = committed.map(({ value }) => JSON.parse(String(value)).eventId as string).sort()
    const rows = await world.sql(
      'SELECT event_id FROM notifications.notification_log WHERE event_id LIKE $1',
      [`${seed}-%`],
    )
    const logged = rows.map(({ event_id }) => event_id as string).sort()
    const writtenCount = written.reduce((sum, count) => sum + count, 0)
    const finding = `seed ${seed}: of ${writtenCount} written, ${expected.length} are committed, and ${logged.length} have a row`
    findings[finding] = JSON.stringify(logged) === JSON.stringify(expected) && expected.length < writtenCount
    say(finding)
    from = ends
  }
  result(findings)
} finally {
  await world.close()
}

function rangesOf(from: Offsets, ends: Offsets): OffsetRange[] {
  return Object.entries(ends).map(([name, end]) => {
    const partition = Number(name)
    return { topic, partition, from: from[partition] ?? 0, end }
  })
}

/** One producer's share of the steps. Returns how many events it wrote. */
async function work(producer: Producer, seed: number): Promise<number> {
  const { below } = createRandom(seed)
  let count = 0
  for (let step = 0; step < stepCount / PRODUCER_COUNT; ) {
    const transaction = await producer.transaction()
    const sendCount = 1 + below(4)
    for (let i = 0; i < sendCount; i++, step++, count++) {
      const eventId = `${Math.floor(seed / PRODUCER_COUNT)}-${seed}-${count}`
      const key = Buffer.alloc(4)
      key.writeInt32BE(below(5) - 1)
      const message = { key, value: anEvent({ eventId }).value, partition: below(PARTITION_COUNT) }
      await transaction.send({ topic, messages: [message] })
    }
    await (below(2) === 0 ? transaction.commit() : transaction.abort())
    step++
  }
  return count
}
