import { createDispatch } from '../../../../src/service/attempt/dispatch.ts'
import type { LookUpNeeds } from '../../../../src/service/attempt/look-up.ts'
import { takeFingerprint } from '../../../../src/service/consume/records/record.ts'
import type { Batch, Dispatch } from '../../../../src/service/decide/attempt/batch.ts'
import { unobserved } from '../../../../src/service/decide/attempt/stage.ts'
import { partitionKey, type TopicPartition } from '../../../../src/service/decide/event/position.ts'
import { Held } from '../../../../src/service/model/request/hold.ts'
import { type Actor, isOutage } from './actor.ts'
import { lookUpContacts } from './contacts.ts'
import { parseMessage, TOPIC } from './messages.ts'
import { SILENT, type World } from './world.ts'

/** Consumes partitions to their ends, several at once, and again from their checkpoints whenever the database fails. */
export async function own(world: World, actor: Actor, owned: readonly number[]): Promise<void> {
  const dispatch = createDispatch(actor.maker, lookUpNeeds(world, actor, 'map'), () => {}, SILENT)
  const places = owned.map((partition) => ({ topic: TOPIC, partition }))
  for (let tries = 0; tries < 30 * owned.length; tries++) {
    await actor.step()
    for (const place of places) actor.expected.set(partitionKey(place), world.memory.checkpoint(place))
    try {
      await consume(world, actor, places, dispatch)
      return
    } catch (error) {
      if (!isOutage(error)) throw error
      if (error instanceof Held) {
        world.counts.held++
        await world.scheduler.step(20)
      }
    }
  }
}

async function consume(
  world: World,
  { expected }: Actor,
  places: readonly TopicPartition[],
  dispatch: Dispatch,
): Promise<void> {
  const { random, counts } = world
  for (;;) {
    const waiting = places.flatMap((place) =>
      nextBatch(world, place, expected.get(partitionKey(place)) ?? -1n),
    )
    if (waiting.length === 0) return
    const some = waiting.filter(() => random.chance(0.8))
    const turns = (some.length === 0 ? waiting : some).map((batch) => ({
      batch,
      isAlone: random.chance(0.2),
    }))
    const results = await Promise.allSettled(dispatch(turns))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    for (const [i, result] of results.entries()) {
      const batch = turns[i]?.batch
      if (batch === undefined || result.status === 'rejected') continue
      const { value } = result
      if (value.kind === 'moved') counts.moved++
      else counts.clashes += value.rejected.filter(({ rejection }) => rejection.code === 'conflict').length
      expected.set(partitionKey(batch), value.kind === 'moved' ? value.checkpoint : value.lastOffset)
    }
  }
}

function nextBatch(
  { partitions, random }: World,
  place: TopicPartition,
  expectedCheckpoint: bigint,
): Batch[] {
  const start = Number(expectedCheckpoint) + 1
  const messages = partitions[place.partition]?.slice(start, start + 1 + random.below(4)) ?? []
  const lastOffset = messages.at(-1)?.offset
  return lastOffset === undefined
    ? []
    : [{ ...place, messages, expectedCheckpoint, lastOffset, lastMessage: null }]
}

/** @param envelopeMapRevision `map`, or `next map`, which finds the party of each message */
export function lookUpNeeds(world: World, actor: Actor, envelopeMapRevision: string): LookUpNeeds {
  const { memory } = world
  return {
    parserFor: () => (message) => parseMessage(message, envelopeMapRevision),
    envelopeMapRevision,
    parseBy: (_, message, then) => parseMessage(message, then ?? envelopeMapRevision),
    findLogged: async (all) => {
      await actor.step()
      return all.map(() => ({ rows: memory.logged(), pruned: [] }))
    },
    lookUpContacts: (parties) => lookUpContacts(world, actor, parties),
    newLocator: () => `NTF-${world.locatorCount++}`,
    takeFingerprint,
    stage: unobserved,
  }
}
