/** A processed message, so that another one in its place is noticed. */
export interface Fingerprint {
  readonly offset: bigint
  /** SHA-256 of its timestamp, key and value, in hex. */
  readonly sha256: string
}

/** The last processed offset of a partition. */
export interface Checkpoint {
  /** The last processed offset; -1 before the first. */
  readonly offset: bigint
  /** The last message at or before it; null if unknown. */
  readonly lastMessage: Fingerprint | null
}
