import { createHash } from 'node:crypto'
import type { Fingerprint } from '../core/batch/checkpoint.ts'
import type { FetchedMessage } from './records/record.ts'

/** The time tells two equal messages apart; neither compaction nor retention changes any of this. */
export function fingerprintOf({ offset, timestampMs, key, value }: FetchedMessage): Fingerprint {
  const hash = createHash('sha256').update(
    `${timestampMs} ${key?.length ?? 'null'} ${value?.length ?? 'null'} `,
  )
  if (key !== null) hash.update(key)
  if (value !== null) hash.update(value)
  return { offset, sha256: hash.digest('hex') }
}
