import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Offsets } from '../topics.ts'
import { kafkaJars } from './jars.ts'

const READER = fileURLToPath(new URL('ReadCommitted.java', import.meta.url))
const OUTPUT_BYTES_MAX = 1024 ** 3

/**
 * The values of all committed messages of a topic from these offsets on to before these ends, as Kafka's own Java client
 * reads them: another opinion than kafkajs's and ours. They must be text without line breaks.
 */
export async function readCommitted(
  brokers: string,
  topic: string,
  from: Offsets,
  ends: Offsets,
): Promise<string[]> {
  const jarsDir = await kafkaJars(console.error)
  const ranges = Object.entries(ends).map(
    ([partition, end]) => `${partition}:${from[Number(partition)] ?? 0}-${end}`,
  )
  const { stdout } = await promisify(execFile)(
    'java',
    ['-cp', join(jarsDir, '*'), READER, brokers, topic, ...ranges],
    { maxBuffer: OUTPUT_BYTES_MAX },
  )
  return stdout.split('\n').slice(0, -1)
}
