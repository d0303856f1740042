import { withBrokers } from '../../service/app/clients.ts'
import { judgeDatabases, judgeGroups } from '../../service/consume/member-notices.ts'
import { listReplicas } from '../../service/store/read/list-replicas.ts'
import { counted } from '../../service/text/count.ts'
import { consumerGroupCheck } from './consumer-group.ts'
import { withPool } from './database.ts'
import { type Check, Problem, RUN_AGAIN } from './remedies.ts'

/** Rejects with other consumer groups on this database, and with members of this group that use another database. */
export const replicasCheck: Check = {
  name: 'replicas',
  prefix: 'MQ_',
  after: ['broker', 'schema'],
  run: (config) =>
    withPool(config, (pool) =>
      withBrokers(config.broker, config.broker.groupId, async (brokers) => {
        const { groupId } = config.broker
        // In this order: a replica announces itself before it joins.
        const members = await brokers.listMembers(groupId)
        const replicas = await listReplicas(pool)
        const notices = [
          judgeGroups(config.broker, replicas),
          judgeDatabases(groupId, members, replicas),
        ].filter((notice) => notice !== null)
        if (notices.length > 0)
          throw new Problem(
            notices.map(({ text }) => text).join('\n'),
            notices.map(({ remedy }) => remedy).join('; '),
          )
        const count = members.filter(({ build }) => build !== null).length
        return count === 0 ? 'none runs' : `${counted(count, 'replica')}, all on this database`
      }),
    ),
  remedies: { ...consumerGroupCheck.remedies, other: RUN_AGAIN },
}
