import { pino } from 'pino'
import { createRandom } from '../../../stack/random.ts'
import { MemoryStore } from '../memory-store.ts'
import { aPartition, EVENT_IDS } from './messages.ts'
import { Scheduler } from './scheduler.ts'

export const SILENT = pino({ level: 'silent' })

/** Counts of events, which show that the schedules reach them. */
export const noCounts = () => ({
  commits: 0,
  sends: 0,
  moved: 0,
  crashes: 0,
  lostReplies: 0,
  refused: 0,
  retried: 0,
  redriven: 0,
  askedAgain: 0,
  /** Entries whose messages were read again, and that got another party. */
  readAgain: 0,
  cancelled: 0,
  pages: 0,
  lostPages: 0,
  erasedOnes: 0,
  holds: 0,
  /** Transactions that a hold ended. */
  held: 0,
  heeded: 0,
  rollbacks: 0,
  /** Messages with the event id of another one. */
  clashes: 0,
  deferred: 0,
  unknownOnes: 0,
})
export type Counts = ReturnType<typeof noCounts>

export type World = ReturnType<typeof createWorld>

/** What the actors of one schedule share: the database, the partitions, the clock and what people were answered. */
export function createWorld(seed: number, counts: Counts) {
  const random = createRandom(seed)
  const scheduler = new Scheduler(random)
  const memory = new MemoryStore()
  memory.now = () => scheduler.now
  const violations: string[] = []
  const world = {
    random,
    scheduler,
    memory,
    counts,
    violations,
    partitions: [aPartition(random), aPartition(random)],
    /** False once every process and connection must work, so that the schedule can end. */
    isFaulty: true,
    locatorCount: 0,
    /** Changes of preferences that were answered. */
    answered: [] as { readonly party: string; readonly id: number; readonly at: number }[],
    /** The changes that opt out. */
    optOuts: new Set<number>(),
    /** Steps at which the erasure of a party was answered. */
    erasedAt: new Map<string, number>(),
    /** The acknowledged holds by id, each with its topic; null: all. */
    heldTopics: new Map<string, string | null>(),
    /** The keys under which the transport accepted a message, by event. It remembers them, whatever becomes of the answer. */
    acceptedKeys: new Map<string, Set<string>>(),
    /** The number of decisions of a request when its cancellation was answered. */
    cancelledWith: new Map<string, number>(),
    decisionsOf: (request: string) => memory.decisions().filter((decision) => decision.request === request),
    openRequests: () => memory.requests().filter(({ end }) => end === null),
    promise: (holds: boolean, sentence: string) => {
      if (!holds) violations.push(`at step ${scheduler.now}: ${sentence}`)
    },
  }
  if (random.chance(0.25)) refuseOneEvent(world)
  return world
}

/** Has the database refuse the rows or decisions of one event, from some attempt on. */
function refuseOneEvent({ random, memory, counts }: Pick<World, 'random' | 'memory' | 'counts'>): void {
  const eventId = random.pick(EVENT_IDS)
  const table = random.pick(['log', 'decision'] as const)
  const fromAttempt = random.below(3)
  memory.refuses = (of, attempt) => {
    const isRefused = of === table && attempt.eventId === eventId && attempt.attemptCount >= fromAttempt
    if (isRefused) counts.refused++
    return isRefused ? 'refused' : null
  }
}
