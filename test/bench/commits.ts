import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Schedule } from './open-loop.ts'

/** The precision of the time of a commit, the same for every side. */
const POLL_INTERVAL_MS = 4
const STALL_MAX_MS = 60_000

/** Polls the checkpoints until the signal aborts. */
export function watchCommits(client: Client, stop: AbortSignal) {
  /** By `topic/partition`: each observed offset with the time of its first observation. */
  const seen = new Map<string, { offset: number; atMs: number }[]>()
  const watching = watch()

  async function watch(): Promise<void> {
    while (!stop.aborted) {
      const { rows } = await client.query({
        name: 'checkpoints',
        text: `SELECT topic || '/' || partition_id AS place, "offset"::integer FROM notifications.projection_checkpoints`,
      })
      const atMs = performance.now()
      for (const { place, offset } of rows) {
        const steps = seen.get(place) ?? []
        if (offset > (steps.at(-1)?.offset ?? -1)) steps.push({ offset, atMs })
        seen.set(place, steps)
      }
      await sleep(POLL_INTERVAL_MS)
    }
  }

  return {
    watching,
    /** Waits until everything published is committed. */
    caughtUp: async (schedule: Schedule): Promise<void> => {
      const deadlineMs = performance.now() + STALL_MAX_MS
      const isBehind = ([place, due]: [string, readonly number[]]) =>
        (seen.get(place)?.at(-1)?.offset ?? -1) < due.length - 1
      while ([...schedule].some(isBehind)) {
        if (performance.now() > deadlineMs) throw new Error(`not all is committed after ${STALL_MAX_MS} ms`)
        await sleep(POLL_INTERVAL_MS)
      }
    },
    /** Latencies in ms of the events scheduled at `fromMs` or later; all must be committed. */
    latenciesOf: (schedule: Schedule, fromMs: number): number[] =>
      [...schedule].flatMap(([place, due]) => {
        const steps = seen.get(place) ?? []
        let step = 0
        return due.flatMap((dueMs, offset) => {
          while ((steps[step]?.offset ?? Number.POSITIVE_INFINITY) < offset) step++
          return dueMs < fromMs ? [] : [(steps[step]?.atMs ?? Number.NaN) - dueMs]
        })
      }),
  }
}
