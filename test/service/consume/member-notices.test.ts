import t from 'tap'
import { judgeDatabases, judgeGroups, judgeMembers } from '../../../src/service/consume/member-notices.ts'

const MINUTE_MS = 60_000

/** A member with this id in its build; without a build if the id is undefined. */
function aMember(replica?: string | null) {
  const build =
    replica === undefined
      ? null
      : { version: '1.2.0', ruleTableRevision: 'a', envelopeMapRevision: null, startedMs: 0, replica }
  return {
    ...{ host: 'h1', client: 'c1', topics: ['claims'], owned: ['claims/1', 'claims/0'] },
    ...{ isStranger: build === null, otherProtocol: null, build },
  }
}
const aReplica = (change: object = {}) => ({
  ...{ id: 'r1', groupId: 'ours', topics: ['claims'], seenMsAgo: 0 },
  ...change,
})

t.test('a member that tells no build is another program', async (t) => {
  t.equal(judgeMembers('ours', [aMember('r1'), aMember(null)]), null)
  t.match(judgeMembers('ours', [aMember('r1'), aMember()]), {
    text: 'another program is in the consumer group ours: c1 on h1, which has claims/0, claims/1',
    shares: 'consumer_group',
  })
})

t.test('a member that this database does not know works on another one', async (t) => {
  const unknown = (replica: string | null | undefined, seenMsAgo: number) =>
    judgeDatabases('ours', [aMember(replica)], [aReplica({ seenMsAgo })])?.shares
  t.equal(unknown('r1', 0), undefined)
  t.equal(unknown('r1', 14 * MINUTE_MS), undefined, 'its database may have been down')
  t.equal(unknown('r1', 15 * MINUTE_MS), 'consumer_group', 'as in a copy')
  t.equal(unknown('r2', 0), 'consumer_group')
  t.equal(unknown(null, 0), undefined, 'version 1.1.0')
  t.equal(unknown(undefined, 0), undefined, 'another program')
})

t.test('another group is named if it reads one of the topics and runs now', async (t) => {
  const others = (change: object) =>
    judgeGroups({ groupId: 'ours', topics: ['claims', 'billing'] }, [
      aReplica(),
      aReplica({ id: 'r2', groupId: 'theirs', ...change }),
    ])?.text
  t.match(others({}), /^another consumer group works on this database: theirs on 1 replica, beside ours\./)
  t.match(others({ seenMsAgo: 2 * MINUTE_MS }), /theirs/)
  t.equal(others({ seenMsAgo: 3 * MINUTE_MS }), undefined)
  t.equal(others({ topics: ['enrollment'] }), undefined)
  t.equal(others({ groupId: 'ours' }), undefined)
})
