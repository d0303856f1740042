import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import type { LogPiece, OffsetRange } from '../core/audit/log-piece.ts'
import type { Fingerprint } from '../core/batch/checkpoint.ts'
import type { TopicPartition } from '../core/batch/topic-partition.ts'
import { CorrectableError } from '../core/text/correctable-error.ts'
import { createClient } from './client.ts'
import { type Cluster, createCluster, READ_UNCOMMITTED } from './cluster.ts'
import { isStaleMetadata } from './errors.ts'
import { fingerprintOf } from './fingerprint.ts'
import { fetchFrom, messageAt } from './inspect-partition.ts'
import { EARLIEST, END, isUnknownTopic, keyOf, listOffsets } from './list-offsets.ts'
import type { FetchedBytes } from './mends/fetch-response.ts'
import { readLog } from './read-log.ts'

/** What the broker holds of a partition, open transactions included. */
export interface LogExtent extends TopicPartition {
  readonly earliest: bigint
  /** Behind its last record. */
  readonly end: bigint
}

export interface OpenLog {
  /** Of every partition of a topic. Throws CorrectableError where the broker does not tell of all. */
  extents(topic: string): Promise<readonly LogExtent[]>
  /** The first offset whose message is not older than this, in ms since 1970; the end where there is no such message. */
  firstSince(extents: readonly LogExtent[], timestampMs: number): Promise<readonly bigint[]>
  /** Whether compaction may remove records of a topic; false also where the broker does not tell. */
  isCompacted(topic: string): Promise<boolean>
  /** Of the message at an offset; null where there is none to be read. */
  fingerprintAt(partition: TopicPartition, offset: bigint): Promise<Fingerprint | null>
  read(range: OffsetRange, logEnd: bigint): AsyncGenerator<LogPiece>
  close(): Promise<void>
}

const CLEANUP_POLICY = 'cleanup.policy'
const METADATA_AGE_MAX_MS = 10_000
const TRY_COUNT_MAX = 6
const PAUSE_MS = 500

/** Reads logs beside every consumer: joins no group, commits no offset. Throws CorrectableError where no broker lets us in. */
export async function openLog(connection: BrokerConnection, clientId: string, log: Logger): Promise<OpenLog> {
  const cluster = createCluster(createClient(connection, clientId, log), METADATA_AGE_MAX_MS)
  try {
    await cluster.connect()
  } catch (cause) {
    const { message } = cause as Error
    throw new CorrectableError(
      `the brokers of MQ_BROKERS cannot be used (${message}): run the command \`doctor\` to find out why`,
      { cause },
    )
  }
  const fetchAlone = oneAtATime((wanted: Parameters<typeof fetchFrom>[1]) =>
    fetchFrom(cluster, wanted, READ_UNCOMMITTED),
  )
  const offsets = (partitions: readonly TopicPartition[], timestamp: string) =>
    listOffsets(cluster, partitions, () => timestamp, READ_UNCOMMITTED)
  return {
    extents: async (topic) => {
      const partitions = await partitionsOf(cluster, topic)
      const [earliest, ends] = await Promise.all([offsets(partitions, EARLIEST), offsets(partitions, END)])
      return partitions.map((partition) => {
        const found = { earliest: earliest.get(keyOf(partition)), end: ends.get(keyOf(partition)) }
        if (found.earliest === undefined || found.end === undefined)
          throw new CorrectableError(`${keyOf(partition)} has no leader: audit it once it has one`)
        return { ...partition, earliest: found.earliest, end: found.end }
      })
    },
    firstSince: async (extents, timestampMs) => {
      const found = await offsets(extents, String(timestampMs))
      return extents.map((extent) => found.get(keyOf(extent)) ?? extent.end)
    },
    isCompacted: (topic) => isCompacted(cluster, topic).catch(() => false),
    fingerprintAt: async ({ topic, partition }, offset) => {
      // The broker sends a whole batch, however little is asked for.
      const wanted = { topic, partition, from: offset, bytesMax: 1 }
      const message = await messageAt(await fetchPatiently(cluster, () => fetchAlone(wanted)), offset)
      return typeof message === 'string' ? null : fingerprintOf(message)
    },
    read: (range, logEnd) =>
      readLog(
        {
          fetch: (from, bytesMax) => fetchPatiently(cluster, () => fetchAlone({ ...range, from, bytesMax })),
          earliest: async () => (await offsets([range], EARLIEST)).get(keyOf(range)) ?? 0n,
        },
        range,
        logEnd,
      ),
    close: () => cluster.disconnect(),
  }
}

async function partitionsOf(cluster: Cluster, topic: string): Promise<TopicPartition[]> {
  const known = cluster.addMultipleTargetTopics([topic]).then(() => true)
  const partitions = (await known.catch(isUnknownTopic))
    ? cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId)
    : []
  if (partitions.length === 0)
    throw new CorrectableError(
      `the broker has no topic ${topic}, or does not let us read it: correct its name, or grant READ`,
    )
  return partitions.toSorted((a, b) => a - b).map((partition) => ({ topic, partition }))
}

/** Rejects where DESCRIBE_CONFIGS is not granted. */
async function isCompacted(cluster: Cluster, topic: string): Promise<boolean> {
  const leader = cluster.findTopicPartitionMetadata(topic).find((partition) => partition.leader >= 0)?.leader
  const broker = await cluster.findBroker({ nodeId: String(leader) })
  const { resources } = await broker.describeConfigs({
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [CLEANUP_POLICY] }],
  })
  const policies = resources.flatMap(({ configEntries }) => configEntries)
  return policies.some(
    ({ configName, configValue }) => configName === CLEANUP_POLICY && configValue?.includes('compact'),
  )
}

/** kafkajs 2.2.4 opens a broker's connection for fetches without a lock: the first ones together would leave sockets open. */
function oneAtATime<Wanted, Found>(
  ask: (wanted: Wanted) => Promise<Found>,
): (wanted: Wanted) => Promise<Found> {
  let before: Promise<unknown> = Promise.resolve()
  return (wanted) => {
    const asked = before.then(() => ask(wanted))
    before = asked.catch(() => {})
    return asked
  }
}

/** A broker may restart, or hand its partition to another one. */
async function fetchPatiently(
  cluster: Cluster,
  fetch: () => Promise<FetchedBytes | null>,
): Promise<FetchedBytes> {
  for (let tryCount = 1; ; tryCount++) {
    const isLast = tryCount === TRY_COUNT_MAX
    try {
      const fetched = await fetch()
      if (fetched !== null && (isLast || !isStaleMetadata(fetched.error ?? ''))) return fetched
      if (isLast) return { error: null, bytes: Buffer.alloc(0), aborted: [] }
    } catch (error) {
      if (isLast || !(error as { retriable?: unknown }).retriable) throw error
    }
    await sleep(PAUSE_MS * tryCount)
    await cluster.refreshMetadata().catch(() => {})
  }
}
