/** A message as it was when it was processed, so that another one in its place is noticed. */
export interface Fingerprint {
  readonly offset: bigint
  /** SHA-256 of all that the broker keeps of the message, in hex. */
  readonly sha256: string
}

/** How far a partition is processed. */
export interface Checkpoint {
  /** The last processed offset; -1 before the first. */
  readonly offset: bigint
  /** The last message at or before it; null where it is not known. */
  readonly lastMessage: Fingerprint | null
}
