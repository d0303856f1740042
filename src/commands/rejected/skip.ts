import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { withBrokers } from '../../app/clients.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { BLOCK_REASONS } from '../../core/batch/blocked.ts'
import { REJECTIONS } from '../../core/event/rejection.ts'
import { CorrectableError } from '../../core/text/faults.ts'
import { type Inspected, inspectPartition } from '../../kafka/inspect-partition.ts'
import { isLocked } from '../../postgres/connection/errors.ts'
import type { DatabasePool } from '../../postgres/connection/pool.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { loadCheckpoint } from '../../postgres/write/checkpoints.ts'
import { skipUnreadable } from '../../postgres/write/skip-unreadable.ts'
import { confirm, type WriteOptions, withWriteOptions } from '../terminal/confirm.ts'
import { helpEnd, parseWhole, UsageError } from '../terminal/options.ts'
import { note, print } from '../terminal/print.ts'

export const skipCommand = withWriteOptions(new Command('skip'))
  .description('skip unreadable record batches, which block a partition')
  .requiredOption('--topic <name>', 'the topic')
  .requiredOption('--partition <number>', 'the partition', parseWhole)
  .requiredOption('--to <offset>', 'the last offset to skip', parseWhole)
  .option('--because <text>', 'why they are skipped; recorded')
  .option('--json', 'print a JSON object')
  .addHelpText(
    'after',
    helpEnd(
      '0 skipped, 1 refused because a message up to the offset can be read',
      'rejected skip --topic claims --partition 3 --to 1207 --because "disk error"',
    ),
  )
  .action(skip)

const TRY_COUNT_MAX = 20
const PAUSE_MS = 250

interface Options extends WriteOptions {
  readonly topic: string
  readonly partition: bigint
  readonly to: bigint
  readonly because?: string
}

type Inspect = (from: bigint) => Promise<Inspected>

/** The skipped bytes and their faults, for the record. */
interface Found {
  readonly bytes: Buffer[]
  readonly details: string[]
}

async function skip(options: Options): Promise<void> {
  const config = loadConfig(process.env)
  const partition = { topic: options.topic, partition: Number(options.partition) }
  await withBrokers(config.broker, config.broker.groupId, (brokers) =>
    skipWith(config, (from) => inspectPartition(brokers, partition, from), options),
  )
}

/** The service locks a checkpoint briefly each time it tries the batch again. */
async function readCheckpoint(pool: DatabasePool, topic: string, partition: number): Promise<bigint> {
  for (let tryCount = 1; ; tryCount++) {
    try {
      return (await loadCheckpoint(pool, topic, partition)).offset
    } catch (error) {
      if (!isLocked(error)) throw error
      if (tryCount === TRY_COUNT_MAX)
        throw new CorrectableError(
          `another session has locked the checkpoint of ${topic}/${partition}: end it (doctor names it), and run the command again`,
        )
      await sleep(PAUSE_MS)
    }
  }
}

async function skipWith(config: Config, inspect: Inspect, options: Options): Promise<void> {
  const { topic, to, json, by } = options
  const partition = Number(options.partition)
  const topicPartition = `${topic}/${partition}`
  // Rejects for a mistyped topic or partition, which must not get a checkpoint.
  await inspect(to)
  await withDatabase(config.database.url, async (pool) => {
    const checkpoint = await readCheckpoint(pool, topic, partition)
    const from = checkpoint + 1n
    if (to < from)
      throw new UsageError(`${topicPartition} is processed up to offset ${checkpoint}: nothing to skip`)
    const found = await inspectAll(inspect, from, to)
    note(found.details.join('\n'))
    const question = `Skip offsets ${from} to ${to} of ${topicPartition}? Their events are lost unless they are published again.`
    if (!(await confirm(question, options))) return note('Not confirmed: nothing was skipped')
    const error = [
      `${REJECTIONS.unreadable}: ${found.details.join('; ')}`,
      `skipped offsets ${from} to ${to} by ${by}`,
      ...(options.because === undefined ? [] : [`because: ${options.because}`]),
    ].join('; ')
    const bytes = Buffer.concat(found.bytes)
    const rejection = { code: 'unreadable' as const, error }
    const was = await skipUnreadable(pool, { topic, partition, checkpoint, to, bytes, rejection })
    if (was !== checkpoint)
      throw new CorrectableError(
        `the checkpoint of ${topicPartition} has moved to ${was}: nothing was skipped`,
      )
    await print(
      json
        ? JSON.stringify({ topic, partition, from: String(from), to: String(to), by, error })
        : `skipped offsets ${from} to ${to} of ${topicPartition}: the events that they held must be published again`,
    )
  })
}

/** Throws if anything up to `to` is readable. */
export async function inspectAll(inspect: Inspect, from: bigint, to: bigint): Promise<Found> {
  const found: Found = { bytes: [], details: [] }
  for (let at = from; at <= to; ) {
    const inspected = await inspect(at)
    const refusal = findRefusal(inspected, at, from, to)
    if (refusal !== null) throw new CorrectableError(`nothing was skipped: ${refusal}`)
    if (inspected.kind !== 'unreadable') break
    const { detail, bytes, next, last } = inspected
    if (!found.details.includes(detail)) {
      found.details.push(detail)
      found.bytes.push(bytes)
    }
    // A fetch may end with the damaged batch: then its last offset shows where the next one begins.
    const following = next ?? (last === null ? to : last + 1n)
    at = following > at ? following : to + 1n
  }
  return found
}

function findRefusal(inspected: Inspected, at: bigint, from: bigint, to: bigint): string | null {
  if (inspected.kind === 'end') return `the partition has nothing from offset ${at} on`
  if (inspected.kind === 'readable') {
    const { offset, begin } = inspected
    if (begin > from && begin <= to) return `offset ${begin} can be read`
    return offset > to ? null : `offset ${offset} can be read`
  }
  return BLOCK_REASONS[inspected.reason].isSkippable
    ? null
    : `the broker does not serve the partition: ${inspected.detail}`
}
