export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** Key of a partition in a map, as people write it: `claims/0`. */
export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}

/** The place of a message. */
export type Place = TopicPartition & { readonly offset: bigint }

/** Key of a place in a map, as people write it: `claims/0@12`. */
export function placeKey(place: Place): string {
  return `${partitionKey(place)}@${place.offset}`
}

/** The partitions that a member of the consumer group owns, by topic. */
export type Assignment = Readonly<Record<string, readonly number[]>>

export function listPartitions(assignment: Assignment): TopicPartition[] {
  return Object.entries(assignment).flatMap(([topic, partitions]) =>
    partitions.map((partition) => ({ topic, partition })),
  )
}

/** Fingerprint of a processed message, to detect a different message at its offset. */
export interface Fingerprint {
  readonly offset: bigint
  /** SHA-256 of its timestamp, key and value, in hex. */
  readonly sha256: string
}

export interface Checkpoint {
  /** The last processed offset; -1 before the first. */
  readonly offset: bigint
  /** The last message at or before `offset`; null if unknown. */
  readonly lastMessage: Fingerprint | null
}

export interface Ends {
  readonly earliest: bigint
  readonly end: bigint
}

/**
 * Offset to fetch from. The last processed message is fetched again to detect a recreated topic.
 *
 * @param earliest the broker is known to have nothing before this offset
 */
export function fetchStart({ offset, lastMessage }: Checkpoint, earliest: bigint): bigint {
  const wanted = lastMessage?.offset ?? offset + 1n
  return wanted < earliest ? earliest : wanted
}
