import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from 'kafkajs'
import type { Held } from '../core/batch/hold.ts'

export const TOPIC_POLL_MS = 5_000

/** Which of the topics to consume do not exist, and since when. */
export function createMissingTopics(topics: readonly string[], nowMs: () => number) {
  let sinceMsByTopic: ReadonlyMap<string, number> = new Map()

  async function listExisting(admin: Admin): Promise<string[]> {
    const known = new Set(await admin.listTopics())
    return topics.filter((topic) => known.has(topic))
  }

  return {
    /** Asks the brokers, and remembers the answer for `held`. */
    look: async (admin: Admin): Promise<{ existing: string[]; missing: string[] }> => {
      const existing = await listExisting(admin)
      const missing = topics.filter((topic) => !existing.includes(topic))
      const foundMs = nowMs()
      sinceMsByTopic = new Map(missing.map((topic) => [topic, sinceMsByTopic.get(topic) ?? foundMs]))
      return { existing, missing }
    },
    /** Resolves when one of these exists; never where there are none, nor after the signal. */
    appeared: async (
      admin: Admin,
      missing: readonly string[],
      signal: AbortSignal,
    ): Promise<{ readonly kind: 'topics' }> => {
      while (missing.length > 0 && !signal.aborted) {
        await sleep(TOPIC_POLL_MS, undefined, { signal }).catch(() => {})
        if (signal.aborted) break
        const existing = await listExisting(admin).catch((): string[] => [])
        if (missing.some((topic) => existing.includes(topic))) return { kind: 'topics' }
      }
      return new Promise(() => {})
    },
    /** Of each topic that was missing at the last look, one partition. */
    held: (): Held[] => {
      const detail = 'the brokers list no such topic'
      return [...sinceMsByTopic].map(([topic, sinceMs]) => {
        return { topic, partition: 0, reason: 'missing', offset: null, sinceMs, detail }
      })
    },
  }
}
