import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'
import t from 'tap'
import { mendGroupOffsets } from '../../../src/kafka/mends/group-offsets.ts'

mendGroupOffsets()

t.test('Kafka is asked for no offset of the group, and those that are known stay', async (t) => {
  const offsets: Record<string, Record<number, string>> = { claims: { 1: '17' } }
  await OffsetManager.prototype.resolveOffsets.call({
    memberAssignment: { claims: [0, 1], billing: [2] },
    committedOffsets: () => offsets,
    resolveOffsets: async () => {},
  })
  t.strictSame(offsets, { claims: { 0: '0', 1: '17' }, billing: { 2: '0' } })
})
