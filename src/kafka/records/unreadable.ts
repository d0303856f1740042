/** Why bytes that a broker sent are no messages. */
export type UnreadableReason = 'damaged' | 'too-large' | 'undecodable'

/** A record batch that cannot be read, however often it is fetched. */
export class UnreadableBatch extends Error {
  readonly reason: UnreadableReason
  /** The offsets that its header names, which may be damaged too. */
  readonly offsets: { readonly first: bigint; readonly last: bigint }

  constructor(reason: UnreadableReason, detail: string, offsets: UnreadableBatch['offsets']) {
    super(`the record batch of offsets ${offsets.first} to ${offsets.last} cannot be read: ${detail}`)
    this.name = 'UnreadableBatch'
    this.reason = reason
    this.offsets = offsets
  }
}

/** Of an answer that holds no whole batch, though brokers give at least one or nothing: a length is damaged. */
export function withoutEnd(from: bigint): UnreadableBatch {
  return new UnreadableBatch('damaged', 'its length is not valid', { first: from, last: from })
}

/** What is wrong with bytes, said by code that does not know where they come from. */
export class Malformed extends Error {
  readonly reason: UnreadableReason

  constructor(detail: string, reason: UnreadableReason = 'undecodable') {
    super(detail)
    this.name = 'Malformed'
    this.reason = reason
  }
}
