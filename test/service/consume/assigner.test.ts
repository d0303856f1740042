import kafkajs from 'kafkajs'
import t from 'tap'
import {
  assign,
  decodeAssignment,
  decodeSubscription,
  encodeAssignments,
  encodeSubscription,
} from '../../../src/service/consume/assigner.ts'

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

t.test('a member gets partitions of its own topics only', async (t) => {
  const members = [
    { memberId: 'a', topics: ['claims'] },
    { memberId: 'b', topics: ['claims', 'billing'] },
  ]
  const others = [{ topic: 'enrollment', partition: 0 }]
  t.strictSame(Object.fromEntries(assign([...partitions, ...others], members)), {
    a: { claims: [0, 1, 2] },
    b: { billing: [0, 1, 2] },
  })
})

t.test('members of kafkajs and ours understand each other', async (t) => {
  const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol
  const { name, metadata } = encodeSubscription(['claims'], {
    version: '1.0.0',
    ruleTableRevision: 'a',
    envelopeMapRevision: null,
    startedMs: 0,
    replica: null,
  })
  t.equal(name, 'RoundRobinAssigner')
  t.strictSame(MemberMetadata.decode(metadata)?.topics, ['claims'])
  t.strictSame(decodeSubscription({ memberId: 'a', memberMetadata: metadata }), {
    memberId: 'a',
    topics: ['claims'],
  })
  const odd = { memberId: 'b', memberMetadata: Buffer.alloc(0) }
  t.strictSame(decodeSubscription(odd), { memberId: 'b', topics: [] }, 'it keeps the others from nothing')
  const [assigned] = encodeAssignments(
    [{ topic: 'claims', partition: 3 }],
    [{ memberId: 'a', topics: ['claims'] }],
  )
  const encoded = assigned?.memberAssignment ?? Buffer.alloc(0)
  t.strictSame({ ...MemberAssignment.decode(encoded)?.assignment }, { claims: [3] })
  t.strictSame({ ...decodeAssignment(encoded) }, { claims: [3] })
  t.strictSame(decodeAssignment(Buffer.alloc(0)), {}, 'a member without partitions')
})
