import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { MALFORMED } from '../core/event/malformed.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { rowsOf } from './rows.ts'

const world = await aWorld(t, { partitionCount: 1 })
await world.serve()

const keyOf = (i: number) => (i % 2 === 0 ? null : Buffer.from([0, 0xff, i % 256]))
const HEADERS = { source: 'test', twice: ['1', '2'], binary: Buffer.from([0xff, 0]), valueOf: 'x' }
const HEADERS_KEPT = { source: ['dGVzdA=='], twice: ['MQ==', 'Mg=='], binary: ['/wA='], valueOf: ['eA=='] }

t.test(
  'malformed messages between good ones: each good one is logged, each bad one kept whole',
  async (t) => {
    const good = MALFORMED.map(() => anEvent())
    for (let start = 0; start < MALFORMED.length; start += 100) {
      await world.publish(
        MALFORMED.slice(start, start + 100).flatMap(({ value }, i) => [
          { value, key: keyOf(start + i), headers: HEADERS, partition: 0 },
          { value: good[start + i]?.value ?? null, partition: 0 },
        ]),
        // Together the largest are more than the broker takes in one batch.
        { compression: 1 },
      )
    }
    await world.caughtUp()
    const rejected = new Map(
      (await rowsOf(world, 'rejected_message')).map((row) => [Number(row.offset), row]),
    )
    const wrong = MALFORMED.flatMap(({ title, value, code }, i) => {
      const row = rejected.get(2 * i)
      const { key, headers } = row ?? {}
      const kept = isDeepStrictEqual([row?.value, key, headers], [value, keyOf(i), HEADERS_KEPT])
      return row?.code === code && row.error && kept ? [] : [{ title, code, found: row }]
    })
    t.same(wrong, [])
    t.equal(rejected.size, MALFORMED.length)
    const logged = new Set((await rowsOf(world, 'notification_log')).map((row) => row.event_id))
    t.same(
      good.filter(({ eventId }) => !logged.has(eventId)),
      [],
    )
    t.equal(logged.size, good.length)
    const [checkpoint] = await world.sql(
      `SELECT "offset"::int FROM notifications.projection_checkpoints WHERE topic = $1`,
      [world.topics.claims],
    )
    t.equal(checkpoint?.offset, 2 * MALFORMED.length - 1)
  },
)
