import { withBrokers } from '../../service/app/clients.ts'
import type { Config } from '../../service/config/config.ts'
import {
  describeForeign,
  describeLost,
  FOREIGN_REMEDY,
  judgeCommitted,
  LOST_REMEDY,
  listForeign,
} from '../../service/consume/offset-faults.ts'
import { partitionKey } from '../../service/decide/event/position.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { readCheckpointOffsets } from '../../service/store/read/list-checkpoints.ts'
import { readDatabaseName } from '../../service/store/read/read-database-name.ts'
import { consumerGroupCheck } from './consumer-group.ts'
import { withPool } from './database.ts'
import { type Check, Problem, RUN_AGAIN } from './remedies.ts'

export const committedOffsetsCheck: Check = {
  name: 'committed offsets',
  prefix: 'MQ_',
  after: ['broker', 'schema'],
  run: (config) => withPool(config, (pool) => checkCommitted(config, pool)),
  remedies: { ...consumerGroupCheck.remedies, other: RUN_AGAIN },
}

/** Rejects if another database has committed offsets of the group, or if this one has lost rows. */
function checkCommitted({ broker, database }: Config, pool: DatabasePool): Promise<string> {
  const { groupId, topics } = broker
  return withBrokers(broker, groupId, async (brokers) => {
    const own = await readDatabaseName(pool, database.url)
    // Before the checkpoints: a running service moves these first.
    const committed = await brokers.readCommitted(groupId, topics)
    const checkpoints = await readCheckpointOffsets(pool, topics)
    const foreign = listForeign(committed, own.id).map((offset) => describeForeign(offset, own, groupId))
    const lost = committed.flatMap((offset) => {
      const fault = judgeCommitted(offset, own.id, checkpoints.get(partitionKey(offset)) ?? -1n)
      return fault?.kind === 'lost' ? [`${partitionKey(offset)}: ${describeLost(fault.count)}`] : []
    })
    const remedies = [
      ...(foreign.length > 0 ? [FOREIGN_REMEDY] : []),
      ...(lost.length > 0 ? [LOST_REMEDY] : []),
    ]
    if (remedies.length > 0) throw new Problem([...foreign, ...lost].join('\n'), remedies.join('; '))
    return committed.length === 0 ? 'none yet' : `all by this database, ${own.id}, or by an earlier version`
  })
}
