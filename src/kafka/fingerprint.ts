import { createHash } from 'node:crypto'
import type { KafkaMessage } from 'kafkajs'
import type { Fingerprint } from '../core/batch/checkpoint.ts'

/** The time tells two equal messages apart; neither compaction nor retention changes any of this. */
export function fingerprintOf({ offset, timestamp, key, value }: KafkaMessage): Fingerprint {
  const hash = createHash('sha256').update(
    `${timestamp} ${key?.length ?? 'null'} ${value?.length ?? 'null'} `,
  )
  if (key !== null) hash.update(key)
  if (value !== null) hash.update(value)
  return { offset: BigInt(offset), sha256: hash.digest('hex') }
}
