import kafkajs from 'kafkajs'
import t, { type Test } from 'tap'
import { anEvent, aWorld } from '../stack/world.ts'
import { NO_KCAT, publishByKcat } from './kcat.ts'
import { rowsOf } from './rows.ts'

const { None, GZIP, Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes
const CODECS = { none: None, gzip: GZIP, snappy: Snappy, lz4: LZ4, zstd: ZSTD }
type Codec = keyof typeof CODECS
const COUNT = 100

const world = await aWorld(t, { partitionCount: 1 })
await world.serve()

/** Events that are worth compressing, each told apart by its reason. */
function compressible(codec: string) {
  return Array.from({ length: COUNT }, (_, i) => {
    const payload = {
      locator: `CLM-${codec}-${i}`,
      reason: `${codec} ${i}`,
      notes: 'compress me '.repeat(100),
    }
    return { ...anEvent({ eventType: 'claim.rejected', payload }), payload }
  })
}

/** Asserts that every event is logged, with the text that was in it. */
async function areLogged(t: Test, events: ReturnType<typeof compressible>) {
  await world.caughtUp()
  const rows = new Map((await rowsOf(world, 'notification_log')).map((row) => [row.event_id, row]))
  const wrong = events.filter(({ eventId, payload: { locator, reason } }) => {
    const body = rows.get(eventId)?.body ?? ''
    return !body.includes(`(reference ${locator})`) || !body.includes(`This is why: ${reason}\n`)
  })
  t.strictSame(wrong, [])
}

for (const [codec, compression] of Object.entries(CODECS)) {
  t.test(`${codec} batches are read`, async (t) => {
    const events = compressible(codec)
    await world.publish(events, { compression })
    await areLogged(t, events)
  })

  t.test(`${codec} batches of a client of another make are read`, { skip: NO_KCAT }, async (t) => {
    const events = compressible(`kcat-${codec}`)
    const lines = events.map(({ value }) => value)
    await publishByKcat(world.brokers, world.topics.claims, lines, ['-z', codec])
    await areLogged(t, events)
  })
}

t.test('batches of all codecs in a row are read in one go', async (t) => {
  const events = new Map<Codec, ReturnType<typeof compressible>>()
  for (const [codec, compression] of Object.entries(CODECS)) {
    const ofCodec = compressible(`mixed-${codec}`)
    events.set(codec as Codec, ofCodec)
    await world.publish(
      ofCodec.map(({ value }) => ({ topic: 'billing', value })),
      { compression },
    )
  }
  await areLogged(t, [...events.values()].flat())
})

t.test('nothing was rejected', async (t) => {
  t.strictSame(await rowsOf(world, 'rejected_message'), [])
})
