import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import { ENVELOPE_MAP, readText } from '../../service/app/authored-files.ts'
import { withBrokers } from '../../service/app/clients.ts'
import { createParseBy } from '../../service/app/parse-by-revision.ts'
import { sha256 } from '../../service/app/sha256.ts'
import { type Config, loadConfig } from '../../service/config/config.ts'
import { isTopicName } from '../../service/config/parsers.ts'
import type { Brokers } from '../../service/consume/brokers.ts'
import { isStaleMetadata, READ_UNCOMMITTED } from '../../service/consume/fetch-request.ts'
import { loadEnvelopeMaps } from '../../service/decide/event/envelope-map.ts'
import { partitionKey } from '../../service/decide/event/position.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { findLogged } from '../../service/store/read/find-logged.ts'
import { findRows } from '../../service/store/read/find-rows.ts'
import { listArchived, readArchived } from '../../service/store/read/read-archive.ts'
import { readDatabaseName } from '../../service/store/read/read-database-name.ts'
import { newCommand, parseAt, parseSince, UsageError } from '../../terminal/options.ts'
import { print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { type AuditNeeds, auditPartition } from './account-for.ts'
import {
  type AuditedPartition,
  type Counts,
  countMessages,
  describeAuditCounts,
  describeAuditFinding,
  describePartition,
  isSound,
  noCounts,
  type OffsetRange,
} from './audit-finding.ts'
import { asUnreachable, choosePartitions, type Range } from './choose-partitions.ts'
import { judgeOffsets } from './find-committed.ts'
import { type LogSource, readLog } from './read-log.ts'
import { findRejected, listSkips } from './read-rejected.ts'

/** One partition is processed while another waits for the database. */
const PARTITIONS_AT_ONCE = 4
const TRY_COUNT_MAX = 6
const PAUSE_MS = 500

export const auditCommand = (world: World) =>
  newCommand('audit', {
    notes: `Reads beside the consumers: it joins no group, commits no offset and writes nothing. Run it with the environment of
\`serve\`. A message up to the checkpoint must have a row with its event type and party, be a duplicate of the row's message (the
same reference and reason, too), or be stored as rejected, unless it was aborted by its producer, skipped, or old enough to be
pruned.`,
    exitCodes: '0 every message is accounted for, 1 one is not or the audit failed',
    example: 'audit --since 7d',
  })
    .description(
      'prove from the broker that each message is a log row, a duplicate of one, or a rejected message',
    )
    .option('--topic <name>', 'only this topic; by default all of MQ_TOPICS')
    .addOption(
      new Option(
        '--since <when>',
        'from the first message at or after this time: a duration such as 7d, a date, or a time (ISO 8601)',
      ).argParser(parseSince),
    )
    .addOption(
      new Option(
        '--until <when>',
        'only messages up to this time, given likewise; a date includes its day',
      ).argParser(parseAt),
    )
    .option('--json', 'one JSON object per line: each finding, then the summary')
    .action((options: Options) => audit(world, options))

interface Options extends Range {
  readonly json?: true
}

async function audit(world: World, options: Options): Promise<void> {
  const { topic } = options
  if (topic !== undefined && !isTopicName(topic))
    throw new UsageError(
      `--topic ${JSON.stringify(topic)} is not a valid topic name: 1 to 249 of A-Z a-z 0-9 . _ -`,
    )
  const config = loadConfig(world.env)
  await withBrokers(config.broker, `${config.broker.groupId}-audit`, (brokers) =>
    withDatabase(world, (pool) => auditWith(world, config, pool, brokers, options), PARTITIONS_AT_ONCE),
  )
}

async function auditWith(
  world: World,
  config: Config,
  pool: DatabasePool,
  brokers: Brokers,
  options: Options,
): Promise<void> {
  const { groupId, topics } = config.broker
  // Before the checkpoints: a running service moves these first.
  const committed = await brokers
    .readCommitted(groupId, options.topic === undefined ? topics : [options.topic])
    .catch(asUnreachable)
  const partitions = await choosePartitions(pool, brokers, topics, options)
  if (!options.json) await print(world, ...partitions.map(describePartition))
  const sum = noCounts()
  const needs: AuditNeeds = {
    ...(await databaseNeeds(pool)),
    read: (range) => readLog(logSource(brokers, range), range),
    report: (finding) => print(world, options.json ? JSON.stringify(finding) : describeAuditFinding(finding)),
    onProgress: createShowProgress(world, sum, partitions),
  }
  const { id } = await readDatabaseName(pool, config.database.url)
  for (const finding of judgeOffsets(partitions, committed, id, sum)) await needs.report(finding)
  const waiting = partitions.values()
  const work = async () => {
    for (const partition of waiting) await auditPartition(needs, partition, sum)
  }
  await Promise.all(Array.from({ length: PARTITIONS_AT_ONCE }, work))
  const sound = isSound(sum)
  const summary = () => JSON.stringify({ kind: 'summary', sound, ...sum, partitions: partitions.map(shown) })
  await print(world, ...(options.json ? [summary()] : describeAuditCounts(sum)))
  world.exitCode = sound ? 0 : 1
}

/** A broker may restart or lose its partition to another one, so reads are repeated a few times. */
function logSource(brokers: Brokers, partition: OffsetRange): LogSource {
  return {
    fetch: async (from, bytesMax) => {
      for (let tryCount = 1; ; tryCount++) {
        const isLast = tryCount === TRY_COUNT_MAX
        try {
          const fetched = await brokers.fetch({ ...partition, from, bytesMax }, READ_UNCOMMITTED)
          if (isLast || !isStaleMetadata(fetched.error)) return fetched
        } catch (error) {
          if (isLast) throw error
        }
        await sleep(PAUSE_MS * tryCount)
      }
    },
    earliest: async () => {
      const ends = await brokers.readEnds([partition.topic], READ_UNCOMMITTED)
      return ends.get(partitionKey(partition))?.earliest ?? 0n
    },
  }
}

async function databaseNeeds(
  pool: DatabasePool,
): Promise<Omit<AuditNeeds, 'read' | 'report' | 'onProgress'>> {
  const source = await readText(ENVELOPE_MAP)
  const present = sha256(source)
  const archived = await listArchived(pool, 'envelope_map')
  return {
    parse: createParseBy(loadEnvelopeMaps(source), present, (revision) =>
      readArchived(pool, 'envelope_map', revision),
    ),
    earlierMaps: archived.filter((revision) => revision !== present),
    findRows: (eventIds) => findRows(pool, eventIds),
    findRejected: ({ topic, partition }, messages) => findRejected(pool, topic, partition, messages),
    prunings: async (partition) => {
      const [logged] = await findLogged(pool, [{ ...partition, eventIds: [] }])
      return logged?.pruned ?? []
    },
    skips: ({ topic, partition }) => listSkips(pool, topic, partition),
  }
}

function createShowProgress(world: World, sum: Counts, partitions: readonly AuditedPartition[]): () => void {
  const total = partitions.reduce((count, { from, end }) => count + (end > from ? Number(end - from) : 0), 0)
  const beganMs = performance.now()
  return () => {
    const count = countMessages(sum)
    const perSecond = Math.round((count * 1_000) / Math.max(1, performance.now() - beganMs))
    showProgress(world, `${count} messages of ${total} offsets, ${perSecond}/s, ${sum.missing} missing`)
  }
}

function shown({ topic, partition, from, end, earliest, checkpoint }: AuditedPartition) {
  return {
    topic,
    partition,
    from: String(from),
    end: String(end),
    earliest: String(earliest),
    checkpoint: checkpoint === null ? null : String(checkpoint),
  }
}
