import { v4 } from 'uuid'

export interface Random {
  /** A whole number from 0 up to, and not including, `bound`. */
  below(bound: number): number
  chance(probability: number): boolean
  pick<Item>(items: readonly [Item, ...Item[]]): Item
  uuid(): string
}

/** The same numbers for the same seed, on every machine (mulberry32). Good enough to shuffle, not to keep secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (bound: number) => Math.floor((next() / 2 ** 32) * bound)
  return {
    below,
    chance: (probability) => next() / 2 ** 32 < probability,
    pick: ([first, ...rest]) => rest[below(rest.length + 1) - 1] ?? first,
    uuid: () => v4({ random: Uint8Array.from({ length: 16 }, () => below(256)) }),
  }
}
