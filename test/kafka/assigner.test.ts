import kafkajs from 'kafkajs'
import { pino } from 'pino'
import t from 'tap'
import { assign, createAssigner } from '../../src/kafka/assigner.ts'

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

t.test('the leader assigns topics that only others read, and warns of hidden ones', async (t) => {
  const lines: { topics?: string[] }[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const cluster = {
    findTopicPartitionMetadata: () => [{ partitionId: 0 }],
    metadata: async () => ({
      topicMetadata: [{ topic: 'billing', partitionMetadata: [{ partitionId: 0 }] }],
    }),
  }
  const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol
  const assigner = createAssigner({ id: null }, log)({ cluster, groupId: 'group' } as never)
  const member = (memberId: string, topics: string[]) => ({
    memberId,
    memberMetadata: MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }),
  })
  const members = [member('a', ['claims']), member('b', ['billing', 'hidden'])]
  const assigned = await assigner.assign({ members, topics: ['claims'] })
  t.strictSame(
    assigned.map(({ memberId, memberAssignment }) => [
      memberId,
      MemberAssignment.decode(memberAssignment)?.assignment,
    ]),
    [
      ['a', { claims: [0] }],
      ['b', { billing: [0] }],
    ],
  )
  t.match(lines, [{ topics: ['hidden'] }])
})
