import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { kafkaJars } from './jars.ts'

/** The offsets to read, without the end. */
export interface OffsetRange {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly end: number
}

export interface CommittedRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
}

const READER = fileURLToPath(new URL('ReadCommitted.java', import.meta.url))
const OUTPUT_BYTES_MAX = 1024 ** 3
const TIMEOUT_MS = 120_000

/**
 * All committed messages of these ranges, in order within a partition, as Kafka's own Java client reads them: another opinion
 * than kafkajs's and ours.
 */
export async function readCommitted(
  brokers: string,
  ranges: readonly OffsetRange[],
): Promise<CommittedRecord[]> {
  const jarsDir = await kafkaJars(console.error)
  const args = ranges.map(({ topic, partition, from, end }) => [topic, partition, from, end].join(':'))
  const { stdout } = await promisify(execFile)(
    'java',
    ['-Xmx1g', '-XX:+UseSerialGC', '-cp', join(jarsDir, '*'), READER, brokers, ...args],
    { maxBuffer: OUTPUT_BYTES_MAX, timeout: TIMEOUT_MS },
  )
  return stdout.split('\n').slice(0, -1).map(recordIn)
}

function recordIn(line: string): CommittedRecord {
  const [topic = '', partition, offset, key = '', value = ''] = line.split(' ')
  return {
    topic,
    partition: Number(partition),
    offset: Number(offset),
    key: bytesIn(key),
    value: bytesIn(value),
  }
}

function bytesIn(text: string): Buffer | null {
  return text === '-' ? null : Buffer.from(text, 'base64')
}
