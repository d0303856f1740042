import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import kafkajs from 'kafkajs'
import t from 'tap'
import { anEvent, aWorld } from '../stack/world.ts'
import { rowsOf } from './rows.ts'

const { None, GZIP, Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes
const CODECS = { none: None, gzip: GZIP, snappy: Snappy, lz4: LZ4, zstd: ZSTD }
const COUNT = 100
/** Why kcat, a client that is neither ours nor the service's, cannot be used; false if it can. */
const NO_KCAT = spawnSync('kcat', ['-V']).error !== undefined && 'no kcat here: install Debian package kcat'

const world = await aWorld(t, { partitionCount: 1 })
await world.serve()

t.test('a header may have no value, and may be repeated', { skip: NO_KCAT }, async (t) => {
  const { eventId, value } = anEvent()
  const headers = ['-H', 'traceparent', '-H', 'twice', '-H', 'twice=', '-H', 'twice=2']
  await publishByKcat(world.topics.enrollment, ['no event', value], headers)
  await world.caughtUp()
  const [rejected] = await rowsOf(world, 'rejected_message')
  t.strictSame(rejected?.headers, { traceparent: [null], twice: [null, '', 'Mg=='] })
  t.ok((await rowsOf(world, 'notification_log')).some((row) => row.event_id === eventId))
})

t.test('batches of all codecs from two Kafka clients are read', async (t) => {
  const makes = NO_KCAT === false ? ['kcat', 'kafkajs'] : ['kafkajs']
  const events = Object.entries(CODECS).flatMap(([codec, compression]) =>
    makes.map((make) => ({
      make,
      codec,
      compression,
      events: compressible(`${make}-${codec}`),
    })),
  )
  for (const { make, codec, compression, events: some } of events) {
    const values = some.map(({ value }) => value)
    if (make === 'kcat') await publishByKcat(world.topics.claims, values, ['-z', codec])
    else
      await world.publish(
        values.map((value) => ({ value })),
        { compression },
      )
  }
  await world.caughtUp()
  const bodies = new Map(
    (await rowsOf(world, 'notification_log')).map((row) => [row.event_id, row.body ?? '']),
  )
  const wrong = events
    .flatMap((batch) => batch.events)
    .filter(({ eventId, payload: { locator, reason } }) => {
      const body = bodies.get(eventId) ?? ''
      return !body.includes(`(reference ${locator})`) || !body.includes(`This is why: ${reason}\n`)
    })
  t.strictSame(wrong, [])
})

/** Publishes one message a line by kcat's producer, lingering so that the lines travel in one batch. */
async function publishByKcat(
  topic: string,
  lines: readonly string[],
  options: readonly string[],
): Promise<void> {
  const args = ['-P', '-b', world.brokers, '-t', topic, '-X', 'linger.ms=50', ...options]
  const child = spawn('kcat', args, { stdio: ['pipe', 'ignore', 'inherit'] })
  child.stdin.end(lines.join('\n'))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`kcat ended with ${code}`)
}

/** Events that are worth compressing, each told apart by its reason. */
function compressible(name: string) {
  return Array.from({ length: COUNT }, (_, i) => {
    const reason = `${name} ${i}`
    const payload = { locator: `CLM-${name}-${i}`, reason, notes: 'compress me '.repeat(100) }
    return { ...anEvent({ eventType: 'claim.rejected', payload }), payload }
  })
}
