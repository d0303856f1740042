import { v4 } from 'uuid'

export type Random = ReturnType<typeof createRandom>

/** The same numbers for the same seed on every machine (mulberry32); not for secrets. */
export function createRandom(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  /** A whole number of at least 0 and less than `bound`. */
  const below = (bound: number) => Math.floor((next() / 2 ** 32) * bound)
  return {
    below,
    chance: (probability: number): boolean => next() / 2 ** 32 < probability,
    pick: <Item>([first, ...rest]: readonly [Item, ...Item[]]): Item =>
      rest[below(rest.length + 1) - 1] ?? first,
    uuid: (): string => v4({ random: Uint8Array.from({ length: 16 }, () => below(256)) }),
  }
}
