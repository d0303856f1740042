import { partitionKey } from '../decide/event/position.ts'
import type { NextOffset } from './membership.ts'

/** Each commit to Kafka costs the broker as much as a hundred events; tools that show the lag poll less often. */
const COMMIT_INTERVAL_MS = 1_000

/**
 * Commits offsets to Kafka for tools that show the group's lag, and for `judgeCommitted`. A failure does no harm, since the
 * database decides. All partitions that moved within a second share one request.
 */
export function createOffsetCommits(commit: (offsets: readonly NextOffset[]) => Promise<void>) {
  const waiting = new Map<string, NextOffset>()
  let timer: NodeJS.Timeout | undefined
  let committed = Promise.resolve()

  /** Resolves once all added offsets are committed, or their commit has failed. */
  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const offsets = [...waiting.values()]
    waiting.clear()
    if (offsets.length > 0) committed = committed.then(() => commit(offsets))
    return committed
  }

  return {
    flush,
    clear: () => waiting.clear(),
    add(offset: NextOffset): void {
      waiting.set(partitionKey(offset), offset)
      timer ??= setTimeout(flush, COMMIT_INTERVAL_MS).unref()
    },
  }
}
