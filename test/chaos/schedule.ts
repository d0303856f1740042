import { createRandom, type Random } from '../stack/random.ts'

/**
 * Whom each kind strikes, one replica or what they all share, and how long it lasts, at least and at most, in milliseconds: a
 * server or a replica is down, a process asleep.
 */
const KINDS = {
  kill: ['replica', 0, 2_000],
  stop: ['replica', 0, 2_000],
  'another rule table': ['replica', 0, 0],
  // Past the session time-out, 6 s.
  zombie: ['replica', 7_000, 9_000],
  'zombie before START TRANSACTION': ['replica', 7_000, 9_000],
  'zombie before COMMIT': ['replica', 7_000, 9_000],
  'zombie at COMMIT': ['replica', 7_000, 9_000],
  'reply to COMMIT lost': ['replica', 0, 0],
  'connections cut': ['replica', 0, 0],
  // Below and beyond the 5 s after which the database gives up on an idle transaction.
  'connections frozen': ['replica', 1_000, 7_000],
  'HTTP flood': ['replica', 5_000, 9_000],
  // Between a replica and one broker; below and beyond the session time-out.
  'network cut': ['replica', 3_000, 15_000],
  'network cut one way': ['replica', 3_000, 15_000],
  'network slow': ['replica', 5_000, 15_000],
  'connections terminated': ['database', 0, 0],
  'database crash': ['database', 0, 2_000],
  // Beyond the 18 s after which a statement without an answer is given up.
  'database frozen': ['database', 3_000, 20_000],
  'synchronous fail-over': ['database', 1_000, 3_000],
  'asynchronous fail-over': ['database', 1_000, 3_000],
  // Beyond the 5 s for which a lock is waited for.
  'partition locked': ['database', 6_000, 9_000],
  // Below and beyond the time after which others take its place.
  'broker kill': ['broker', 0, 6_000],
  // Below and beyond the session time-out.
  'broker frozen': ['broker', 3_000, 15_000],
  'transactions aborted': ['broker', 1_000, 4_000],
  'party look-ups fail': ['policy administration', 2_000, 5_000],
  'party look-ups hang': ['policy administration', 2_000, 5_000],
  'party look-ups garbled': ['policy administration', 2_000, 5_000],
  'some parties hang': ['policy administration', 4_000, 9_000],
} as const
export type FaultKind = keyof typeof KINDS
const FAULT_KINDS = Object.keys(KINDS) as FaultKind[]

const struckBy = (kind: FaultKind) => KINDS[kind][0]

const START_MS_MAX = 3_000
const DICE_SIDES = 1_000_000
/** Number of cycles, of twelve, by number of faults. A cycle without faults is the control. */
const FAULT_COUNTS = [0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3] as const

export interface Fault {
  readonly kind: FaultKind
  /** Since the start of its cycle. */
  readonly startMs: number
  readonly durationMs: number
  /** Index of the replica that it strikes; null where it strikes what all share. */
  readonly replica: number | null
  /** Which partition it strikes, and whatever else is random about it. */
  readonly dice: number
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
  if (struckBy(kind) === 'replica')
    return faults.filter((fault) => fault.replica !== null).length < replicaCount
  return !faults.some((fault) => struckBy(fault.kind) === struckBy(kind))
}

function faultOf(kind: FaultKind, others: readonly Fault[], replicaCount: number, random: Random): Fault {
  const [strikes, minMs, maxMs] = KINDS[kind]
  const free = Array.from({ length: replicaCount }, (_, i) => i).filter(
    (replica) => !others.some((fault) => fault.replica === replica),
  )
  return {
    kind,
    startMs: random.below(START_MS_MAX),
    durationMs: minMs + random.below(maxMs - minMs + 1),
    replica: strikes === 'replica' ? (free[random.below(free.length)] ?? 0) : null,
    dice: random.below(DICE_SIDES),
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const left = [...items]
  return items.flatMap(() => left.splice(random.below(left.length), 1))
}
