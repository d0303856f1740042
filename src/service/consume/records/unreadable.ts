export type UnreadableReason = 'damaged' | 'too-large' | 'undecodable'

/** A record batch that no fetch can make readable. */
export class UnreadableBatch extends Error {
  readonly reason: UnreadableReason
  /** The offsets in the batch's header, which may be damaged too. */
  readonly offsets: { readonly first: bigint; readonly last: bigint }

  constructor(reason: UnreadableReason, detail: string, offsets: UnreadableBatch['offsets']) {
    super(`the record batch of offsets ${offsets.first} to ${offsets.last} cannot be read: ${detail}`)
    this.name = 'UnreadableBatch'
    this.reason = reason
    this.offsets = offsets
  }
}

/** The error for a fetch without a whole batch. Brokers send at least one whole batch or nothing, so the length is damaged. */
export function withoutEnd(from: bigint): UnreadableBatch {
  return new UnreadableBatch('damaged', 'its length is not valid', { first: from, last: from })
}

/** Thrown by decoders, which do not know the offsets of the batch. */
export class MalformedBatch extends Error {
  readonly reason: UnreadableReason

  constructor(detail: string, reason: UnreadableReason = 'undecodable') {
    super(detail)
    this.name = 'MalformedBatch'
    this.reason = reason
  }
}
