import t from 'tap'
import type { UnservedState } from '../../../src/service/consume/cluster.ts'
import { readMessages } from '../../../src/service/consume/read-messages.ts'
import { partitionKey, placeKey, type TopicPartition } from '../../../src/service/decide/event/position.ts'
import { writeBatch, writeMarker } from './records/write-batch.ts'

const partition = { topic: 'claims', partition: 0 }
const placesAt = (...offsets: number[]) => offsets.map((offset) => ({ ...partition, offset: BigInt(offset) }))
const batch = (baseOffset: number, values: readonly string[], producerId?: number) =>
  writeBatch({
    baseOffset,
    ...(producerId !== undefined && { producerId, isTransactional: true }),
    records: values.map((value) => ({ value })),
  })

/** A partition that begins at offset 2, and whose broker sends this many batches at a time. */
function brokerOf(batches: readonly Buffer[], atOnce = 9, error: string | null = null) {
  const unserved = new Map<string, UnservedState>()
  const fetched: bigint[] = []
  const lastOf = (one: Buffer) => one.readBigInt64BE(0) + BigInt(one.readInt32BE(23))
  const end = batches.reduce((last, one) => (lastOf(one) > last ? lastOf(one) : last), 0n) + 1n
  return {
    fetched,
    unserved,
    unservedReason: (place: TopicPartition) => unserved.get(partitionKey(place)) ?? null,
    readEnds: async () => new Map([['claims/0', { ...partition, earliest: 2n, end }]]),
    fetch: async ({ from }: { from: bigint }) => {
      fetched.push(from)
      const first = batches.findIndex((one) => lastOf(one) >= from)
      const aborted = [{ producerId: 1n, firstOffset: 5n }]
      return { error, bytes: Buffer.concat(batches.slice(first, first + atOnce)), aborted }
    },
  }
}

async function read(broker: ReturnType<typeof brokerOf>, ...offsets: number[]) {
  const found = await readMessages(broker, placesAt(...offsets))
  return placesAt(...offsets).map((place) => {
    const message = found.get(placeKey(place))
    return message == null ? message : String(message.value)
  })
}

const LOG = [
  batch(2, ['two', 'three']),
  batch(5, ['aborted'], 1),
  writeMarker(6, 1, 'abort'),
  batch(8, ['eight']),
]

t.test('messages are read at their offsets, several by one fetch', async (t) => {
  const broker = brokerOf(LOG)
  t.strictSame(await read(broker, 8, 3, 2), ['eight', 'three', 'two'])
  t.strictSame(broker.fetched, [8n, 2n])
})

t.test('what is removed, aborted, compacted, a marker or beyond the end is no message', async (t) => {
  t.strictSame(await read(brokerOf(LOG, 1), 0, 5, 6, 7, 9, 8), [null, null, null, null, null, 'eight'])
  const elsewhere = [{ topic: 'gone', partition: 0, offset: 2n }]
  t.strictSame([...(await readMessages(brokerOf(LOG), elsewhere)).values()], [null])
})

t.test('a partition that no broker serves is not taken for one without messages', async (t) => {
  const broker = brokerOf(LOG)
  broker.unserved.set('billing/0', { topic: 'billing', reason: 'no-leader', sinceMs: 0 })
  const billing = { topic: 'billing', partition: 0, offset: 2n }
  const found = await readMessages(broker, [...placesAt(3), billing])
  t.strictSame([...found.keys()], ['claims/0@3'])
  await t.rejects(
    readMessages(broker, [billing, ...placesAt(3)]),
    /billing\/0 cannot be read: no broker leads it/,
  )
})

t.test('a partition whose leader is elected meanwhile is not taken for one without messages', async (t) => {
  const broker = brokerOf(LOG)
  let readCount = 0
  const readEnds = async () => (readCount++ === 0 ? new Map() : broker.readEnds())
  t.strictSame(await read({ ...broker, readEnds }, 3), ['three'])
})

t.test('a batch that cannot be read has no messages, and holds up no others', async (t) => {
  const broken = Buffer.from(LOG[0] ?? '')
  broken.writeInt32BE(0, 17)
  t.strictSame(await read(brokerOf([broken, ...LOG.slice(1)]), 3, 8), [null, 'eight'])
})

t.test('a damaged batch that claims later offsets does not hide their messages', async (t) => {
  const damaged = batch(2, ['two'])
  damaged.writeInt32BE(20, 23)
  t.strictSame(await read(brokerOf([damaged, batch(8, ['eight'])]), 8), ['eight'])
})

t.test('after 8 MB it stops, and after an error it rejects', async (t) => {
  const large = [2, 3, 4].map((offset) => batch(offset, ['x'.repeat(5_000_000)]))
  t.strictSame(
    (await read(brokerOf(large, 1), 4, 3, 2)).map((value) => value?.length),
    [5_000_000, undefined, 5_000_000],
  )
  await t.rejects(
    read(brokerOf(LOG, 1, 'NOT_LEADER_OR_FOLLOWER'), 2),
    /does not serve claims\/0@2: NOT_LEADER/,
  )
  t.strictSame(await read(brokerOf(LOG, 1, 'OFFSET_OUT_OF_RANGE'), 2), [null])
})
