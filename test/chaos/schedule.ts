import { createRandom, type Random } from '../bench/random.ts'

/** Whom a fault strikes: one replica, or what they all share. */
const STRIKES = {
  kill: 'replica',
  stop: 'replica',
  zombie: 'replica',
  'zombie before START TRANSACTION': 'replica',
  'zombie before COMMIT': 'replica',
  'zombie at COMMIT': 'replica',
  'reply to COMMIT lost': 'replica',
  'connections cut': 'replica',
  'connections frozen': 'replica',
  'connections terminated': 'database',
  'database crash': 'database',
  'broker kill': 'broker',
  'party look-ups fail': 'policy administration',
  'party look-ups hang': 'policy administration',
  'party look-ups garbled': 'policy administration',
} as const
export type FaultKind = keyof typeof STRIKES
export const FAULT_KINDS = Object.keys(STRIKES) as FaultKind[]

/** How long each lasts, at least and at most, in milliseconds: a server or a replica is down, a process asleep. */
const DURATIONS_MS: Record<FaultKind, readonly [number, number]> = {
  kill: [0, 2_000],
  stop: [0, 2_000],
  // Past the session time-out, 6 s.
  zombie: [7_000, 9_000],
  'zombie before START TRANSACTION': [7_000, 9_000],
  'zombie before COMMIT': [7_000, 9_000],
  'zombie at COMMIT': [7_000, 9_000],
  'reply to COMMIT lost': [0, 0],
  'connections cut': [0, 0],
  // Below and beyond the 5 s after which the database gives up on an idle transaction.
  'connections frozen': [1_000, 7_000],
  'connections terminated': [0, 0],
  'database crash': [0, 2_000],
  'broker kill': [0, 1_000],
  'party look-ups fail': [2_000, 5_000],
  'party look-ups hang': [2_000, 5_000],
  'party look-ups garbled': [2_000, 5_000],
}
const START_MS_MAX = 3_000
/** Of twelve cycles, how many have so many faults. A cycle without any shows what is right when nothing is wrong. */
const FAULT_COUNTS = [0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3] as const

export interface Fault {
  readonly kind: FaultKind
  /** Since the start of its cycle. */
  readonly startMs: number
  readonly durationMs: number
  /** Index of the replica that it strikes; null where it strikes what all share. */
  readonly replica: number | null
}

export interface CyclePlan {
  readonly faults: readonly Fault[]
  /** Whether all is to be caught up at its end; else the next cycle begins with whatever is under way. */
  readonly settles: boolean
}

/**
 * The faults of each cycle, by the seed alone: the same plan for the same cycle, however many cycles there are. The
 * kinds are dealt like cards, so that each comes as often as any other.
 */
export function createSchedule(seed: number, replicaCount: number): () => CyclePlan {
  const random = createRandom(seed)
  let deck: FaultKind[] = []
  return () => {
    const faultCount = random.pick(FAULT_COUNTS)
    const faults: Fault[] = []
    while (faults.length < faultCount) {
      if (deck.length < FAULT_KINDS.length) deck = [...deck, ...shuffled(FAULT_KINDS, random)]
      const next = deck.findIndex((kind) => fits(kind, faults, replicaCount))
      if (next === -1) break
      const [kind] = deck.splice(next, 1) as [FaultKind]
      faults.push(faultOf(kind, faults, replicaCount, random))
    }
    return { faults, settles: faults.length === 0 || random.below(3) > 0 }
  }
}

/** One fault a cycle for each replica, and one for each of what they share: it is one thing or another that happens. */
function fits(kind: FaultKind, faults: readonly Fault[], replicaCount: number): boolean {
  if (STRIKES[kind] === 'replica')
    return faults.filter((fault) => fault.replica !== null).length < replicaCount
  return !faults.some((fault) => STRIKES[fault.kind] === STRIKES[kind])
}

function faultOf(kind: FaultKind, others: readonly Fault[], replicaCount: number, random: Random): Fault {
  const [minMs, maxMs] = DURATIONS_MS[kind]
  const free = Array.from({ length: replicaCount }, (_, i) => i).filter(
    (replica) => !others.some((fault) => fault.replica === replica),
  )
  return {
    kind,
    startMs: random.below(START_MS_MAX),
    durationMs: minMs + random.below(maxMs - minMs + 1),
    replica: STRIKES[kind] === 'replica' ? (free[random.below(free.length)] ?? 0) : null,
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const left = [...items]
  return items.flatMap(() => left.splice(random.below(left.length), 1))
}
