import { setTimeout as sleep } from 'node:timers/promises'

/** Partition numbers by topic. */
export type Assignment = Readonly<Record<string, readonly number[]>>

/** The first offset that the broker still has, and the one after its last. */
export interface Ends {
  readonly earliest: bigint
  readonly end: bigint
}

/** The oldest message of a partition that is fetched and not processed. */
export interface Head {
  readonly offset: bigint
  readonly timestampMs: bigint
}

export interface FailedRows {
  /** Still to be retried. */
  readonly waiting: number
  /** Too old, or tried too often. */
  readonly givenUp: number
}

export interface BacklogNeeds {
  /** The partitions that this process owns; null: it is no member of the consumer group. */
  readonly assignment: () => Assignment | null
  /** By partition number, for each of the topics; rejects where the broker does not answer, also for no topic. */
  readonly endsOf: (topics: readonly string[]) => Promise<ReadonlyMap<string, ReadonlyMap<number, Ends>>>
  /** By partition number, the first offset of a message that is not older than this; the end where there is none. */
  readonly firstSince: (topic: string, timestampMs: number) => Promise<ReadonlyMap<number, bigint>>
  /** The last processed offset of each partition that has one. */
  readonly checkpoints: () => Promise<
    readonly { readonly topic: string; readonly partition: number; readonly offset: bigint }[]
  >
  readonly failedRows: () => Promise<FailedRows>
  readonly nowMs: () => number
}

export interface PartitionLag {
  readonly topic: string
  readonly partition: number
  /** Messages that the broker has and the checkpoint does not cover. */
  readonly messageCount: number
  /** Age of the oldest of them, to a second and a tenth; 0 where there is none. */
  readonly oldestAgeS: number
}

/** What waits to be done. */
export interface Backlog {
  /** Null: this process is no member of the consumer group. */
  readonly assignedCount: number | null
  readonly brokerReachable: boolean
  readonly databaseReachable: boolean
  /** Of the partitions that this process owns; none where the broker does not answer. */
  readonly partitions: readonly PartitionLag[]
  /** A minute old at most; null if the database did not answer. */
  readonly failedRows: FailedRows | null
}

/** Well below the 10 s that Prometheus waits by default. */
const DEADLINE_MS = 3_000
/** They change once in a retry interval, and there may be very many of them. */
const FAILED_ROWS_VALID_MS = 60_000
const AGE_MIN_S = 1
/** Each candidate for an age is this much more than the one before it; the last one is some four years. */
const AGE_STEP = 1.1
const AGE_COUNT = 196

/**
 * Compares the database's checkpoints with the ends of the partitions. Asks both anew each time, whether or not
 * anything is being consumed, and waits for neither longer than 3 s. While the database does not answer, nothing can be
 * processed: the last known checkpoints remain valid.
 */
export function createBacklog(needs: BacklogNeeds): () => Promise<Backlog> {
  const held = new Map<string, bigint>()
  const heldOf = (topic: string, partition: number) => held.get(`${topic}/${partition}`) ?? -1n
  let failedRows: { readonly rows: FailedRows; readonly readAtMs: number } | null = null

  const readDatabase = oneAtATime(async () => {
    for (const { topic, partition, offset } of await needs.checkpoints()) {
      held.set(`${topic}/${partition}`, offset)
    }
    if (failedRows === null || needs.nowMs() - failedRows.readAtMs >= FAILED_ROWS_VALID_MS) {
      failedRows = { rows: await needs.failedRows(), readAtMs: needs.nowMs() }
    }
    return failedRows.rows
  })

  const readBroker = oneAtATime(async () => {
    const assignment = needs.assignment() ?? {}
    const ends = await needs.endsOf(Object.keys(assignment))
    const firstSince = memoized(needs.firstSince)
    const partitions = Object.entries(assignment).flatMap(([topic, numbers]) =>
      numbers.map(async (partition): Promise<PartitionLag[]> => {
        const found = ends.get(topic)?.get(partition)
        if (found === undefined) return []
        const next = nextOffset(heldOf(topic, partition), found)
        const messageCount = Number(found.end - next)
        const oldestAgeS = messageCount === 0 ? 0 : await ageOf(next, topic, partition, firstSince)
        return [{ topic, partition, messageCount, oldestAgeS }]
      }),
    )
    return (await Promise.all(partitions)).flat()
  })

  /** The least candidate such that a message of this age or younger is at this offset or before it. */
  async function ageOf(
    offset: bigint,
    topic: string,
    partition: number,
    firstSince: BacklogNeeds['firstSince'],
  ): Promise<number> {
    // The partitions of a topic ask for the same times.
    const nowMs = Math.floor(needs.nowMs() / 1_000) * 1_000
    let low = 0
    let high = AGE_COUNT - 1
    while (low < high) {
      const middle = (low + high) >> 1
      const first = (await firstSince(topic, Math.floor(nowMs - ageS(middle) * 1_000))).get(partition)
      if (first !== undefined && first <= offset) high = middle
      else low = middle + 1
    }
    return ageS(low)
  }

  return async () => {
    const rows = await readDatabase()
    const partitions = await readBroker()
    const assignment = needs.assignment()
    return {
      assignedCount: assignment === null ? null : Object.values(assignment).flat().length,
      brokerReachable: partitions !== null,
      databaseReachable: rows !== null,
      partitions: partitions ?? [],
      failedRows: rows,
    }
  }
}

/** Where the consumer goes on; messages that retention removed are not waited for. */
function nextOffset(held: bigint, { earliest, end }: Ends): bigint {
  const next = held + 1n
  // Before the first, or beyond the end of a topic that was created anew.
  return next < earliest || next > end ? earliest : next
}

function ageS(candidate: number): number {
  return AGE_MIN_S * AGE_STEP ** candidate
}

/** Answers null where there is no answer in time, and does not ask again while a question is still open. */
function oneAtATime<T>(ask: () => Promise<T>): () => Promise<T | null> {
  let open: Promise<T | null> | null = null
  return async () => {
    open ??= ask()
      .catch(() => null)
      .finally(() => {
        open = null
      })
    const answered = new AbortController()
    const late = sleep(DEADLINE_MS, null, { signal: answered.signal }).catch(() => null)
    try {
      return await Promise.race([open, late])
    } finally {
      answered.abort()
    }
  }
}

function memoized(firstSince: BacklogNeeds['firstSince']): BacklogNeeds['firstSince'] {
  const answers = new Map<string, ReturnType<typeof firstSince>>()
  return (topic, timestampMs) => {
    const key = `${topic}/${timestampMs}`
    const answer = answers.get(key) ?? firstSince(topic, timestampMs)
    answers.set(key, answer)
    return answer
  }
}
