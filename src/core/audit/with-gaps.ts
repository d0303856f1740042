import type { LogPiece, OffsetRange } from './log-piece.ts'

/** Offsets that no piece of the log accounts for, both included. */
export interface Gap {
  readonly kind: 'gap'
  readonly first: bigint
  readonly last: bigint
}

/** The pieces of a range of the log, and before each, or behind the last, the gaps in the offsets that it leaves. */
export async function* withGaps(
  pieces: AsyncIterable<LogPiece>,
  { from, end }: Pick<OffsetRange, 'from' | 'end'>,
): AsyncGenerator<LogPiece | Gap> {
  let next = from
  for await (const piece of pieces) {
    for (const { first, last } of spansOf(piece)) {
      if (first > next) yield { kind: 'gap', first: next, last: first - 1n }
      if (last >= next) next = last + 1n
    }
    yield piece
  }
  if (next < end) yield { kind: 'gap', first: next, last: end - 1n }
}

function spansOf(piece: LogPiece): readonly { readonly first: bigint; readonly last: bigint }[] {
  if (piece.kind === 'messages') return piece.messages.map(({ offset }) => ({ first: offset, last: offset }))
  if (piece.kind === 'control') return [{ first: piece.offset, last: piece.offset }]
  return [piece]
}
