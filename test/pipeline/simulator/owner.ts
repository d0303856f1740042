import type { Dispatch } from '../../../src/core/batch/batch.ts'
import { unobserved } from '../../../src/core/batch/stage.ts'
import { partitionKey } from '../../../src/core/event/position.ts'
import { takeFingerprint } from '../../../src/kafka/records/record.ts'
import { createDispatch, type DispatchNeeds } from '../../../src/pipeline/dispatch.ts'
import { isWorthRestart } from '../../../src/postgres/connection/errors.ts'
import { DatabaseFault } from '../memory-store.ts'
import type { Actor } from './actor.ts'
import { lookUpContacts } from './contacts.ts'
import { parseMessage, TOPIC } from './messages.ts'
import { SILENT, type World } from './world.ts'

/** Consumes partitions to their ends, side by side. */
export async function own(world: World, actor: Actor, owned: readonly number[]): Promise<void> {
  const dispatch = createDispatch(dispatchNeeds(world, actor, 'map'))
  await Promise.all(owned.map((partition) => consumeAgain(world, actor, partition, dispatch)))
}

/** Consumes a partition, again from its checkpoint whenever the database fails. */
async function consumeAgain(
  world: World,
  actor: Actor,
  partition: number,
  dispatch: Dispatch,
): Promise<void> {
  const place = { topic: TOPIC, partition }
  for (let tries = 0; tries < 30; tries++) {
    await actor.step()
    actor.expected.set(partitionKey(place), world.memory.checkpoint(place))
    try {
      await consume(world, actor, partition, dispatch)
      return
    } catch (error) {
      if (!(error instanceof DatabaseFault)) throw error
    }
  }
}

async function consume(
  { partitions, random, counts }: World,
  { expected }: Actor,
  partition: number,
  dispatch: Dispatch,
): Promise<void> {
  const place = { topic: TOPIC, partition }
  for (;;) {
    const expectedCheckpoint = expected.get(partitionKey(place)) ?? -1n
    const start = Number(expectedCheckpoint) + 1
    const messages = partitions[partition]?.slice(start, start + 1 + random.below(4)) ?? []
    const lastOffset = messages.at(-1)?.offset
    if (lastOffset === undefined) return
    const result = await dispatch({ ...place, messages, expectedCheckpoint, lastOffset, lastMessage: null })
    if (result.kind === 'moved') counts.moved++
    else counts.clashes += result.rejected.filter(({ rejection }) => rejection.code === 'conflict').length
    expected.set(partitionKey(place), result.kind === 'moved' ? result.checkpoint : result.lastOffset)
  }
}

/** @param envelopeMapRevision `map`, or `next map`, which finds the party of each message */
export function dispatchNeeds(world: World, actor: Actor, envelopeMapRevision: string): DispatchNeeds {
  const { memory, scheduler } = world
  return {
    parserFor: () => (message) => parseMessage(message, envelopeMapRevision),
    envelopeMapRevision,
    parseBy: (_, message, then) => parseMessage(message, then ?? envelopeMapRevision),
    findLogged: async () => {
      await actor.step()
      return { rows: memory.logged(), pruned: [] }
    },
    lookUpContacts: (parties) => lookUpContacts(world, actor, parties),
    newLocator: () => `NTF-${world.locatorCount++}`,
    takeFingerprint,
    makeAttempts: (source) => actor.attempt(source),
    countRestart: () => {},
    stage: unobserved,
    isWorthRestart,
    nowMs: () => scheduler.now,
    log: SILENT,
    startTimer: (durationMs, run) => {
      let isStopped = false
      void scheduler.step(durationMs).then(() => isStopped || run())
      return () => {
        isStopped = true
      }
    },
  }
}
