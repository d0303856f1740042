// node test/stack/with-stack.ts -- node test/soak/hostile.ts
// Messages that are made to hold up a consumer, each beside a trickle of events on another topic: 100,000 header names in
// one message, EVENTS (1,000,000) events in one batch, and RECORDS (5,000,000) empty records in one. The others must go on, the
// service must answer, and its memory must stay within 300 MB. Exits 1 where that does not hold.
import { setTimeout as sleep } from 'node:timers/promises'
import { constants, zstdCompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'
import { peakMemoryMbOf } from '../bench/cpu.ts'
import { writeBatch, writeRecords } from '../kafka/records/write-batch.ts'
import { numberFrom } from '../stack/environment.ts'
import { produceRaw } from '../stack/kafka/produce-raw.ts'
import { withAdmin } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, createWorld, type World } from '../stack/world.ts'
import { result, say } from './report.ts'

const MEMORY_MAX_MB = 300
const ZSTD = 4
const SLICE_COUNT = 50_000
/** A batch of that many records has some megabytes, packed. */
const BATCH_BYTES_MAX = 64 * 1024 * 1024

const eventCount = numberFrom('EVENTS', 1_000_000)
const recordCount = numberFrom('RECORDS', 5_000_000)
const world = await createWorld({ partitionCount: 1 })
const findings: Record<string, boolean> = {}
await allowLargeBatches(world)
/** On the topic that is attacked. */
let published = 0
const service = await world.spawn({ LOG_LEVEL: 'info' })
const watch = watchOthers(service.url)
try {
  // Compiled, so that what is measured is the messages.
  await sleep(2_000)
  await attack('100,000 header names', manyHeaders(), 1_000)
  await attack(`${eventCount} events in one batch`, manyRecords(eventCount, event), 600_000)
  await attack(`${recordCount} empty records in one batch`, manyRecords(recordCount, nothing), 600_000)
  const peakMb = (await peakMemoryMbOf(service.pid)) ?? Number.NaN
  findings[`at most ${Math.round(peakMb)} MB were in use`] = peakMb <= MEMORY_MAX_MB
  result(findings)

  async function attack(name: string, batch: Buffer, tookMaxMs: number): Promise<void> {
    const worst = watch.begin()
    say(`${name}: ${batch.length} bytes`)
    await produceRaw(world.brokers, world.topics.claims, 0, batch)
    const startMs = performance.now()
    await until(async () => (await backlogOf(world)) === 0, { what: name, timeoutMs: tookMaxMs * 10 })
    const tookMs = Math.round(performance.now() - startMs)
    const { healthMs, otherMs } = worst()
    findings[`${name}: processed after ${tookMs} ms`] = tookMs <= tookMaxMs
    findings[`${name}: /healthz answered within ${healthMs} ms`] =
      healthMs <= (tookMaxMs <= 1_000 ? 100 : 1_000)
    findings[`${name}: others waited for at most ${otherMs} ms`] = otherMs <= 5_000
  }
} finally {
  await watch.stop()
  await world.close()
}

async function allowLargeBatches({ brokers, topics }: World): Promise<void> {
  const configEntries = [{ name: 'max.message.bytes', value: String(BATCH_BYTES_MAX) }]
  const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topics.claims, configEntries }
  await withAdmin(brokers, (admin) => admin.alterConfigs({ validateOnly: false, resources: [resource] }))
}

async function backlogOf({ sql, topics }: World): Promise<number> {
  const [row] = await sql(
    'SELECT "offset"::int AS at FROM notifications.projection_checkpoints WHERE topic = $1',
    [topics.claims],
  )
  return published - 1 - (row?.at ?? -1)
}

/** Meanwhile an event comes to another topic every 50 ms, and /healthz is asked. */
function watchOthers(url: string) {
  const stopping = new AbortController()
  let worst = { healthMs: 0, otherMs: 0 }
  const health = repeat(async () => {
    const startMs = performance.now()
    await fetch(`${url}/healthz`)
    worst.healthMs = Math.max(worst.healthMs, Math.round(performance.now() - startMs))
  })
  const others = repeat(async () => {
    const { eventId, value } = anEvent()
    const startMs = performance.now()
    await world.publish([{ topic: 'billing', value }])
    const isLogged = async () =>
      (await world.sql('SELECT FROM notifications.notification_log WHERE event_id = $1', [eventId])).length >
      0
    await until(isLogged, { what: 'the event of another topic', timeoutMs: 60_000 })
    worst.otherMs = Math.max(worst.otherMs, Math.round(performance.now() - startMs))
  })

  async function repeat(act: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      await act()
      await sleep(50)
    }
  }

  return {
    /** Returns what tells the worst of each since then. */
    begin: () => {
      worst = { healthMs: 0, otherMs: 0 }
      return () => worst
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([health, others])
    },
  }
}

function manyHeaders(): Buffer {
  const headers = Array.from({ length: 100_000 }, (_, i) => [`h${i}`, null] as const)
  published++
  return writeBatch({ baseOffset: 0, records: [{ value: anEvent().value, headers }] })
}

function event(i: number): string {
  return `{"eventId":"bulk-${i}","eventType":"claim.paid","partyLocator":"party-${i % 1_000}","payload":{}}`
}

function nothing(): null {
  return null
}

/** One packed batch, made slice by slice. */
function manyRecords(count: number, recordValue: (i: number) => string | null): Buffer {
  published += count
  const slices: Buffer[] = []
  for (let first = 0; first < count; first += SLICE_COUNT) {
    const indices = Array.from({ length: Math.min(SLICE_COUNT, count - first) }, (_, i) => first + i)
    slices.push(writeRecords(indices.map((i) => ({ value: recordValue(i), offsetDelta: i }))))
  }
  const params = { [constants.ZSTD_c_compressionLevel]: 3 }
  const pack = () => zstdCompressSync(Buffer.concat(slices), { params })
  return writeBatch({
    baseOffset: 0,
    records: [],
    recordCount: count,
    lastOffsetDelta: count - 1,
    codec: ZSTD,
    pack,
  })
}
