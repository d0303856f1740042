import kafkajs from 'kafkajs'
import type Broker from 'kafkajs/src/broker/index.js'
import errors from 'kafkajs/src/protocol/error.js'
import { pino } from 'pino'
import t from 'tap'
import { encodeSubscription } from '../../../src/service/consume/assigner.ts'
import { Coordinator } from '../../../src/service/consume/coordinator.ts'
import { until } from '../../stack/until.ts'
import { settled } from './one-partition.ts'

const { MemberAssignment } = kafkajs.AssignerProtocol

const BUILD = {
  version: '1.0.0',
  ruleTableRevision: 'a',
  envelopeMapRevision: null,
  startedMs: 0,
  replica: null,
}

type Call = {
  readonly name: string
  readonly node: number
  readonly memberId?: string
  readonly groupGenerationId?: number
  readonly topics?: unknown
}
type Answers = Partial<
  Record<'joinGroup' | 'syncGroup' | 'heartbeat' | 'leaveGroup' | 'offsetCommit', (call: Call) => unknown>
>

/** A group whose requests are answered by the test. Broker 1 coordinates it at first. */
function memberOf(answers: Answers, topics: Record<string, number[]> = { claims: [0] }) {
  const calls: Call[] = []
  const lines: { topics?: string[] }[] = []
  const cluster = { coordinator: 1, found: Promise.resolve() }
  const assignments: { memberId: string; assignment: Record<string, number[]> }[] = []
  const brokerAt = (node: number) => {
    const answer =
      (name: keyof Answers) =>
      async ({ memberId, groupGenerationId, topics }: Omit<Call, 'name' | 'node'>) => {
        const generation = groupGenerationId === undefined ? {} : { groupGenerationId }
        const call = { name, node, memberId, ...generation, ...(topics === undefined ? {} : { topics }) }
        calls.push(call)
        return answers[name]?.(call)
      }
    return {
      lookupRequest: () => (request: object) => request,
      connectionPool: { send: answer('joinGroup') },
      syncGroup: async (request: {
        memberId: string
        groupAssignment: { memberId: string; memberAssignment: Buffer }[]
      }) => {
        for (const { memberId, memberAssignment } of request.groupAssignment)
          assignments.push({
            memberId,
            assignment: { ...MemberAssignment.decode(memberAssignment)?.assignment },
          })
        const own = request.groupAssignment.find((one) => one.memberId === request.memberId)
        return (
          (await answer('syncGroup')(request)) ?? {
            memberAssignment: own?.memberAssignment ?? Buffer.alloc(0),
          }
        )
      },
      heartbeat: answer('heartbeat'),
      leaveGroup: answer('leaveGroup'),
      offsetCommit: answer('offsetCommit'),
    } as unknown as Broker
  }
  const found = new Map(
    Object.entries(topics).map(([topic, numbers]) => [
      topic,
      { error: null, leaders: new Map(numbers.map((partition) => [partition, 1])) },
    ]),
  )
  const ask = <T>(node: number, request: (broker: Broker) => Promise<T>) => request(brokerAt(node))
  const member = new Coordinator({
    cluster: {
      ask,
      askApart: ask,
      findCoordinator: async () => {
        await cluster.found
        return cluster.coordinator
      },
      topics: async () => found,
      refresh: async () => {},
    },
    groupId: 'group',
    database: { id: '00000000-0000-4000-8000-000000000001', place: '' },
    build: BUILD,
    sessionTimeoutMs: 30_000,
    log: pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) }),
  })
  return { member, calls, lines, cluster, assignments }
}

const errorOf = (type: string) =>
  errors.createErrorFromCode(errors.errorCodes.find((one) => one.type === type)?.code ?? 0)

const assigned = (assignment: Record<string, number[]>) => ({
  memberAssignment: MemberAssignment.encode({ version: 0, assignment, userData: Buffer.alloc(0) }),
})

const joinedAs = (memberId: string, members: Record<string, string[]> = {}) => ({
  generationId: 1,
  memberId,
  leaderId: 'a',
  members: Object.entries(members).map(([id, topics]) => ({
    memberId: id,
    memberMetadata: encodeSubscription(topics, BUILD).metadata,
  })),
})

t.test('the leader assigns topics that only others read, and warns of hidden ones', async (t) => {
  const members = { a: ['claims'], b: ['billing', 'hidden'] }
  const { member, assignments, lines } = memberOf(
    { joinGroup: () => joinedAs('a', members) },
    { claims: [0, 1], billing: [0] },
  )
  t.strictSame(await member.join(['claims']), { claims: [0, 1] })
  t.strictSame(assignments, [
    { memberId: 'b', assignment: { billing: [0] } },
    { memberId: 'a', assignment: { claims: [0, 1] } },
  ])
  t.match(lines, [{ topics: ['hidden'] }])
})

t.test('a member ignores partitions of topics that it does not read, and warns of them', async (t) => {
  const { member, lines } = memberOf({
    joinGroup: () => joinedAs('b'),
    syncGroup: () => assigned({ claims: [0], billing: [1] }),
  })
  t.strictSame(await member.join(['claims']), { claims: [0] })
  t.match(lines, [{ topics: ['billing'] }])
})

t.test('a member keeps its id until the coordinator does not know it, or it has left', async (t) => {
  let joinCount = 0
  const { member, calls } = memberOf({
    joinGroup: ({ memberId }) => {
      joinCount++
      if (joinCount === 3) throw errorOf('UNKNOWN_MEMBER_ID')
      return joinedAs(memberId || `member-${joinCount}`)
    },
  })
  await member.join(['claims'])
  await member.join(['claims'])
  await member.join(['claims'])
  await member.leave()
  await member.leave()
  await member.join(['claims'])
  t.strictSame(
    calls.filter(({ name }) => name !== 'syncGroup').map(({ name, memberId }) => `${name} ${memberId}`),
    [
      'joinGroup ',
      'joinGroup member-1',
      'joinGroup member-1',
      'joinGroup ',
      'leaveGroup member-4',
      'joinGroup ',
    ],
  )
})

t.test('a join that is given up leaves no other member in the group', async (t) => {
  const { member, calls, cluster } = memberOf({
    joinGroup: ({ node, memberId }) => {
      if (memberId === '') throw Object.assign(errorOf('MEMBER_ID_REQUIRED'), { memberId: 'new' })
      return node === 1 ? new Promise(() => {}) : joinedAs('new')
    },
  })
  const givenUp = member.join(['claims'])
  await settled()
  cluster.coordinator = 2
  await t.rejects(givenUp, { message: 'broker 2 coordinates the group now' })
  t.strictSame(await member.join(['claims']), {})
  await member.leave()
  t.strictSame(
    calls.map(({ name, node, memberId }) => `${name} ${memberId} at ${node}`),
    [
      'joinGroup  at 1',
      'joinGroup new at 1',
      'joinGroup new at 2',
      'syncGroup new at 2',
      'leaveGroup new at 2',
    ],
  )
})

t.test('one broker alone does not end a join by the word that it coordinates the group', async (t) => {
  const joined = Promise.withResolvers<unknown>()
  const { member, cluster } = memberOf({ joinGroup: () => joined.promise })
  const assignment = member.join(['claims'])
  await settled()
  const named = [2, 1]
  Object.defineProperty(cluster, 'coordinator', { get: () => named.shift() ?? 1 })
  await until(() => named.length === 0, { what: 'two brokers to be asked' })
  joined.resolve(joinedAs('b'))
  t.strictSame(await assignment, {})
})

t.test('a rebalance during the join starts it again; any other error ends it', async (t) => {
  const failures = ['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION']
  const { member, calls } = memberOf({
    joinGroup: () => joinedAs('b'),
    syncGroup: () => {
      const type = failures.shift()
      if (type !== undefined) throw errorOf(type)
      return undefined
    },
  })
  t.strictSame(await member.join(['claims']), {})
  t.equal(calls.length, 6)
  const refused = memberOf({
    joinGroup: () => {
      throw errorOf('GROUP_AUTHORIZATION_FAILED')
    },
  })
  await t.rejects(refused.member.join(['claims']), { name: 'KafkaJSProtocolError' })
  t.equal(refused.calls.length, 1)
})

t.test(
  'a coordinator that stands still is waited for only until another one coordinates the group',
  async (t) => {
    const { member, calls, cluster } = memberOf({
      joinGroup: () => joinedAs('b'),
      heartbeat: ({ node }) => (node === 1 ? new Promise(() => {}) : undefined),
    })
    await member.join(['claims'])
    const beat = member.heartbeat()
    await settled()
    t.equal(calls.at(-1)?.name, 'heartbeat', 'it still coordinates the group')
    cluster.coordinator = 2
    t.equal(await beat, 'member', 'the group still knows it')
    await member.heartbeat()
    t.match(calls.at(-1), { name: 'heartbeat', node: 2, memberId: 'b' })
  },
)

t.test('a heartbeat tells a rebalance from a member that the group does not know', async (t) => {
  const standings = [
    'REBALANCE_IN_PROGRESS',
    'UNKNOWN_MEMBER_ID',
    'ILLEGAL_GENERATION',
    'NOT_COORDINATOR_FOR_GROUP',
  ]
  const { member } = memberOf({
    heartbeat: () => {
      throw errorOf(standings.shift() ?? '')
    },
  })
  t.strictSame(
    [await member.heartbeat(), await member.heartbeat(), await member.heartbeat(), await member.heartbeat()],
    ['rebalancing', 'unknown', 'unknown', 'member'],
  )
})

t.test('offsets are committed by the generation that processed them, however late', async (t) => {
  let generationId = 0
  const { member, calls, cluster } = memberOf({
    joinGroup: () => ({ ...joinedAs('b'), generationId: ++generationId }),
    syncGroup: () => assigned({ claims: [0] }),
    heartbeat: () => {
      throw new Error('the coordinator is lost')
    },
  })
  await member.join(['claims'])
  await member.heartbeat()
  const found = Promise.withResolvers<void>()
  cluster.found = found.promise
  const committed = member.commit([{ topic: 'claims', partition: 0, next: 1n }])
  cluster.found = Promise.resolve()
  await member.join(['claims'])
  found.resolve()
  await committed
  t.match(calls.at(-1), { name: 'offsetCommit', groupGenerationId: 1 })
})

t.test(
  'a batch that ends after a rebalance commits no offset of a partition that is another member’s',
  async (t) => {
    const later = Promise.withResolvers()
    const answers = [assigned({ claims: [1] }), later.promise]
    const { member, calls } = memberOf({
      joinGroup: () => joinedAs('b'),
      syncGroup: () => answers.shift(),
    })
    await member.join(['claims'])
    await member.commit([0, 1].map((partition) => ({ topic: 'claims', partition, next: 1n })))
    t.match(calls.at(-1), {
      name: 'offsetCommit',
      topics: [{ topic: 'claims', partitions: [{ partition: 1 }] }],
    })
    const callCount = calls.length
    await member.commit([{ topic: 'claims', partition: 0, next: 2n }])
    t.equal(calls.length, callCount)
    const joined = member.join(['claims'])
    await settled()
    await member.commit([{ topic: 'claims', partition: 1, next: 2n }])
    t.equal(calls.at(-1)?.name, 'syncGroup', 'the new generation has not told yet who has it')
    later.resolve(assigned({ claims: [1] }))
    await joined
  },
)
