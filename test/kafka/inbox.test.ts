import t from 'tap'
import { createBudget, Inbox } from '../../src/kafka/inbox.ts'
import { writeBatch } from './records/write-batch.ts'

const LAST_OFFSET_DELTA_AT = 23

t.test('a skipped batch that claims the offsets of those after it does not block them', async (t) => {
  const damaged = writeBatch({ baseOffset: 10, records: [{ value: 'a' }] })
  damaged.writeInt32BE(990, LAST_OFFSET_DELTA_AT)
  const inbox = new Inbox({ seek: () => {}, pause: () => {}, resume: () => {} }, createBudget(1_000_000))
  inbox.open(21n)
  // Brokers send it for every offset that its header claims.
  const bytes = Buffer.concat([damaged, writeBatch({ baseOffset: 21, records: [{ value: 'b' }] })])
  inbox.offer({ error: null, bytes, aborted: [] }, 21n, () => {})
  const taken = await inbox.take(10)
  t.match(taken, { messages: [{ offset: 21n }], lastOffset: 21n })
})
