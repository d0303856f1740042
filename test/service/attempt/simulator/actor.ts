import type { AttemptMaker } from '../../../../src/service/attempt/transact.ts'
import type { Attempt } from '../../../../src/service/decide/attempt/attempt.ts'
import { unobserved } from '../../../../src/service/decide/attempt/stage.ts'
import { Held } from '../../../../src/service/model/request/hold.ts'
import { readCode } from '../../../../src/service/text/error-codes.ts'
import { SIMPLE_RULES } from '../../decide/attempt/build.ts'
import { DatabaseFault, type Session, type Step } from '../memory-store.ts'
import type { Sabotage } from './defects.ts'
import { checkedSend, checkedStore } from './promises.ts'
import { createSend } from './transport.ts'
import type { Counts, World } from './world.ts'

/** A process that may crash, pause or lose its connection. */
export interface Actor {
  readonly maker: AttemptMaker
  /** The expected checkpoints of the batches under way, by `partitionKey`. */
  readonly expected: Map<string, bigint>
  /** Waits until the seed picks this actor; never resolves once it has crashed. */
  readonly step: () => Promise<void>
}

export function startActor(world: World, sabotage: Sabotage): Actor {
  const { random, scheduler, memory, counts } = world
  let isDead = false
  const step = async () => {
    await scheduler.step(random.chance(0.03) ? 5 + random.below(40) : 0)
    if (world.isFaulty && !isDead && random.chance(0.004)) {
      counts.crashes++
      isDead = true
      session.kill()
    }
    if (isDead) await new Promise(() => {})
  }
  const session: Session = memory.connect(faultyConnection(world, step))
  const expected = new Map<string, bigint>()
  const store = checkedStore(sabotage(session, expected), world, expected)
  const maker: AttemptMaker = {
    ...SIMPLE_RULES,
    store,
    send: checkedSend(createSend(world, step), world),
    stage: unobserved,
    // Each step takes longer than a write may: preferences that change during one must be noticed.
    clock: {
      monotonicMs: () => scheduler.now * 101,
      startTimer: (durationMs, run) => {
        let isStopped = false
        void scheduler.step(durationMs).then(() => isStopped || run())
        return () => {
          isStopped = true
        }
      },
      sleep: async () => {},
    },
    onCommit: (attempts) => countAttempts(counts, attempts),
    mustProbe: false,
  }
  return { maker, expected, step }
}

function countAttempts(counts: Counts, attempts: readonly Attempt[]): void {
  for (const { kind, request, origin, decision } of attempts) {
    if (kind !== 'first') counts.retried++
    if (request === null) continue
    if (kind === 'first') counts.redriven++
    else if (origin.envelopeMapRevision !== 'map' && decision.facts.party === 'found') counts.readAgain++
  }
}

/** True for an error after which the service backs off and tries again. */
export function isOutage(error: unknown): boolean {
  return error instanceof DatabaseFault || error instanceof Held || readCode(error) === 'ETIMEDOUT'
}

/** Loses connections and replies to COMMIT, and reports serialization failures. */
function faultyConnection(world: World, step: Actor['step']): Step {
  const { random, counts } = world
  return async (statement) => {
    await step()
    if (!world.isFaulty) return undefined
    if (random.chance(0.006)) throw new DatabaseFault('08006', 'the connection is lost')
    if (random.chance(0.006)) {
      counts.rollbacks++
      throw new DatabaseFault('40001', 'could not serialize access')
    }
    if (statement !== 'COMMIT' || !random.chance(0.03)) return undefined
    counts.lostReplies++
    return 'lost'
  }
}
