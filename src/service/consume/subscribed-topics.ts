import type { Blocked } from '../model/block-reasons.ts'
import type { Cluster } from './cluster.ts'

/** Maximum time until a new topic or partition, or a new leader of a quiet partition, is noticed. */
export const TOPICS_POLL_MS = 5_000

/** The topics that this member reads, as the brokers describe them. */
export class SubscribedTopics {
  readonly names: readonly string[]
  readonly #cluster: Pick<Cluster, 'topics'>
  #existing: readonly string[] = []
  #partitionCounts = ''
  #missing: readonly Blocked[] = []

  constructor(names: readonly string[], cluster: Pick<Cluster, 'topics'>) {
    this.names = names
    this.#cluster = cluster
  }

  async find(): Promise<void> {
    const found = await this.#cluster.topics(this.names)
    const exists = (topic: string) => found.get(topic)?.error === null
    const missingBefore = this.#missing
    this.#existing = this.names.filter(exists)
    this.#partitionCounts = this.#existing.map((topic) => `${topic}/${found.get(topic)?.leaders.size}`).join()
    this.#missing = this.names
      .filter((topic) => !exists(topic))
      .map((topic) => {
        const detail = found.get(topic)?.error ?? 'the brokers do not answer for it'
        const reason = detail === 'TOPIC_AUTHORIZATION_FAILED' ? 'no-rights' : 'missing'
        const sinceMs = missingBefore.find((before) => before.topic === topic)?.sinceMs ?? Date.now()
        return { topic, partition: 0, reason, offset: null, sinceMs, detail }
      })
  }

  get existing(): readonly string[] {
    return this.#existing
  }

  /** Changes when a topic or a partition appears or is gone. */
  get partitionCounts(): string {
    return this.#partitionCounts
  }

  get missing(): readonly Blocked[] {
    return this.#missing
  }
}
