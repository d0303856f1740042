import t from 'tap'
import { assign } from '../../src/kafka/assigner.ts'

const partitions = [0, 1, 2].flatMap((partition) =>
  ['billing', 'claims'].map((topic) => ({ topic, partition })),
)

t.test('members with the same topics get equally many partitions', async (t) => {
  const members = ['b', 'a'].map((memberId) => ({ memberId, topics: ['claims', 'billing'] }))
  t.strictSame(Object.fromEntries(assign(partitions, members)), {
    a: { billing: [0, 1, 2] },
    b: { claims: [0, 1, 2] },
  })
})

t.test(
  'a member gets partitions of its own topics only, and no topic without a subscriber is assigned',
  async (t) => {
    const members = [
      { memberId: 'a', topics: ['claims'] },
      { memberId: 'b', topics: ['claims', 'billing'] },
    ]
    const others = [{ topic: 'enrollment', partition: 0 }]
    t.strictSame(Object.fromEntries(assign([...partitions, ...others], members)), {
      a: { claims: [0, 1, 2] },
      b: { billing: [0, 1, 2] },
    })
  },
)
