import { z } from 'zod'
import { storedRequest } from './schemas.ts'

/** A request to hold topics; without any, all of them. */
export const holdRequest = z.object({
  kind: z.literal('hold'),
  target: z.strictObject({ topics: z.array(z.string().min(1)).min(1).readonly().optional() }),
})
export type HoldRequest = z.infer<typeof holdRequest>

/** The topics of a hold; null for all, and for a request that this version cannot read, which may hold any topic. */
const heldTopics = holdRequest.transform(({ target }) => target.topics ?? null).catch(null)

/** While a hold is open, no attempt is made for its topics. */
export const hold = z.object({
  ...storedRequest.pick({ id: true, by: true, because: true }).shape,
  /** ISO 8601. */
  since: storedRequest.shape.requestedAt,
  /** Null: all topics. */
  topics: z.array(z.string()).readonly().nullable(),
})
export type Hold = Readonly<z.infer<typeof hold>>

export const storedHold = storedRequest
  .pick({ id: true, kind: true, target: true, by: true, because: true, requestedAt: true })
  .transform(
    ({ kind, target, requestedAt: since, ...rest }): Hold => ({
      ...rest,
      since,
      topics: heldTopics.parse({ kind, target }),
    }),
  )

/** The oldest hold of a topic, or null. A null topic is unknown: only a hold of all topics covers it. */
export function findHold(holds: readonly Hold[], topic: string | null): Hold | null {
  return holds.find(({ topics }) => topics === null || (topic !== null && topics.includes(topic))) ?? null
}

/** Names the topics that are not consumed, for which a hold would stop nothing; null if there are none. */
export function describeUnknownTopics(topics: readonly string[], consumed: readonly string[]): string | null {
  const unknown = topics.filter((topic) => !consumed.includes(topic))
  if (unknown.length === 0) return null
  return `no topic is named ${unknown.join(', ')}: MQ_TOPICS has ${consumed.join(', ')}`
}

/** The events that wait for the end of a hold. */
export function countHeld({ topics }: Hold, waitingByTopic: ReadonlyMap<string, number>): number {
  return [...waitingByTopic].reduce(
    (sum, [topic, count]) => (topics === null || topics.includes(topic) ? sum + count : sum),
    0,
  )
}

/** Example: "held by alice since 2026-01-31T12:00:00.000000Z because the wrong mails go out". */
export function describeHold({ by, because, since }: Hold): string {
  return `held by ${by} since ${since} because ${because}`
}

/** Thrown if a hold prevents an attempt; nothing is written. */
export class Held extends Error {
  readonly hold: Hold

  constructor(hold: Hold) {
    super(describeHold(hold))
    this.hold = hold
  }
}

/** Throws `Held` if one of the topics is held. */
export function requireNoHold(holds: readonly Hold[], topics: Iterable<string | null>): void {
  if (holds.length === 0) return
  for (const topic of topics) {
    const found = findHold(holds, topic)
    if (found !== null) throw new Held(found)
  }
}
