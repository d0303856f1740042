import { CHANNELS, type Channel } from '../../../../src/service/decide/party/channel.ts'
import type { RequestTarget } from '../../../../src/service/model/request/schemas.ts'
import type { Actor } from './actor.ts'
import { PARTIES, TOPIC } from './messages.ts'
import type { World } from './world.ts'

/** Members change their preferences now and then. */
export async function changePreferences(world: World, actor: Actor): Promise<void> {
  const { scheduler, random } = world
  for (let i = 0; i < 4; i++) {
    await scheduler.step(random.below(30))
    await changePreferencesOf(world, actor, random.pick(PARTIES))
  }
}

/** One member changes her preferences again and again, as long as somebody else is at work. */
export async function neverStopChanging(world: World, actor: Actor): Promise<void> {
  while (world.scheduler.waitingCount > 0) {
    await changePreferencesOf(world, actor, PARTIES[0])
    await world.scheduler.step()
  }
}

/** A change counts once it is answered. */
async function changePreferencesOf(world: World, actor: Actor, party: string): Promise<void> {
  const { memory, scheduler, random } = world
  const isOptOut = random.chance(0.5)
  const optedOutEvents = new Set(isOptOut ? ['claim.paid'] : [])
  const preferredChannel = random.pick(CHANNELS as [Channel, ...Channel[]])
  const id = memory.putPreferences(party, { preferredChannel, optedOutEvents })
  if (isOptOut) world.optOuts.add(id)
  await actor.step()
  world.answered.push({ party, id, at: scheduler.now })
}

/** Operators hold one topic or all, and resume. A hold counts from its acknowledgement to the resume. */
export async function hold({ memory, scheduler, random, counts, heldTopics }: World): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await scheduler.step(random.below(200))
    const topic = random.pick([null, TOPIC, 'another'])
    const id = await memory.hold(topic === null ? null : [topic])
    heldTopics.set(id, topic)
    counts.holds++
    await scheduler.step(random.below(100))
    heldTopics.delete(id)
    await scheduler.step(random.below(5))
    memory.resume(id)
  }
}

/** A member may be erased. */
export async function erase({ memory, scheduler, random, counts, erasedAt }: World): Promise<void> {
  await scheduler.step(random.below(600))
  if (!random.chance(0.3)) return
  const party = random.pick(PARTIES)
  await memory.erase(party)
  counts.erasedOnes++
  erasedAt.set(party, scheduler.now)
}

/** Operators ask for retries and redrives; some ask twice, or cancel. */
export async function ask(world: World): Promise<void> {
  const { memory, scheduler, random, counts } = world
  for (let i = 0; i < 4; i++) {
    await scheduler.step(random.below(120))
    const target = pickTarget(world)
    const id = memory.addRequest(target)
    if (random.chance(0.3)) {
      counts.askedAgain++
      memory.addRequest(target, 'bob')
    }
    await scheduler.step(random.below(60))
    if (random.chance(0.3) && (await memory.cancelRequest(id))) {
      counts.cancelled++
      world.cancelledWith.set(id, world.decisionsOf(id).length)
    }
  }
}

/** All rejected messages, some entries by name, or all that were not told. */
function pickTarget({ memory, random }: World): RequestTarget {
  const locators = memory.rows().map(({ locator }) => locator)
  if (random.chance(0.4)) return { kind: 'redrive', target: { filter: { upTo: '999' } } }
  const isByName = random.chance(0.5) && locators.length > 0
  return {
    kind: 'retry',
    target: {
      ...(isByName ? { locators } : { filter: { to: 'now' } }),
      readAgain: random.chance(0.5) || undefined,
    },
  }
}
