import type { Attempt } from '../../../../src/service/decide/attempt/attempt.ts'
import type { OutgoingMessage, Send } from '../../../../src/service/decide/attempt/delivery.ts'
import type { Store } from '../../../../src/service/decide/attempt/store.ts'
import { partitionKey } from '../../../../src/service/decide/event/position.ts'
import { CHANNEL_KINDS } from '../../../../src/service/decide/party/channel.ts'
import { addressOf, eventIdOf, partyOf, TOPIC } from './messages.ts'
import { DEFERRED } from './transport.ts'
import type { World } from './world.ts'

/** A second: see `nowMs` in actor.ts. */
const READ_AGE_STEPS_MAX = 10

/** Checks what must hold after every commit. */
export function checkCommits(world: World): void {
  const checkpointsBefore = world.partitions.map(() => -1n)
  world.memory.onCommit = () => {
    world.counts.commits++
    checkDecisions(world)
    checkRows(world)
    checkRequests(world)
    checkCheckpoints(world, checkpointsBefore)
    checkConsumed(world)
  }
}

function checkDecisions({ memory, promise }: World): void {
  const locators = new Set(memory.rows().map(({ locator }) => locator))
  for (const { locator, eventId, attempt, origin, sendError } of memory.decisions()) {
    promise(sendError !== DEFERRED || attempt === 0, `a deferral of ${eventId} costs an attempt`)
    promise(locators.has(locator), `decision ${attempt} on ${eventId} has no row`)
    promise(origin.offset <= memory.checkpoint(origin), `${eventId} is logged from beyond the checkpoint`)
  }
}

function checkRows({ memory, promise }: World): void {
  const rows = memory.rows()
  promise(new Set(rows.map(({ eventId }) => eventId)).size === rows.length, 'an event has two rows')
  const last = new Map(memory.decisions().map((decision) => [decision.locator, decision]))
  for (const { locator, eventId, status, attemptCount, channel } of rows) {
    const decision = last.get(locator)
    const isExplained = decision?.attempt === attemptCount && decision.channel === channel
    promise(isExplained, `no decision explains ${eventId}`)
    const isSent = decision?.outcome === 'SEND' && decision.sendError === null
    const expected = isSent ? 'SENT' : decision?.outcome === 'SKIP' ? 'SKIPPED' : 'FAILED'
    promise(status === expected, `${eventId} is ${status} though its last decision makes it ${expected}`)
  }
}

function checkRequests({ memory, decisionsOf, cancelledWith, promise }: World): void {
  for (const { id, progress } of memory.requests()) {
    const made = decisionsOf(id)
    const { unchanged = 0, duplicate = 0, ...results } = progress.counts
    const sum = Object.values(results).reduce((all, count) => all + count, 0)
    promise(made.length === sum, `request ${id} counts ${sum} of its ${made.length} attempts`)
    const entryCount = new Set(made.map(({ locator }) => locator)).size
    promise(entryCount === made.length, `request ${id} tries an entry twice`)
    const countMax = cancelledWith.get(id) ?? made.length
    promise(made.length === countMax, `request ${id} goes on after it was cancelled`)
  }
}

function checkCheckpoints({ memory, partitions, promise }: World, before: bigint[]): void {
  for (const partition of partitions.keys()) {
    const checkpoint = memory.checkpoint({ topic: TOPIC, partition })
    promise(checkpoint >= (before[partition] ?? -1n), 'a checkpoint moves back')
    before[partition] = checkpoint
  }
}

/** Each message behind a checkpoint is logged or rejected, and only another message with the same event id is a conflict. */
function checkConsumed({ memory, partitions, promise }: World): void {
  const codes = new Map<string, string>(
    memory
      .rejected()
      .map(({ partition, message, rejection }) => [`${partition}/${message.offset}`, rejection.code]),
  )
  const logged = memory.logged()
  for (const [partition, messages] of partitions.entries()) {
    const checkpoint = memory.checkpoint({ topic: TOPIC, partition })
    for (const { offset, value } of messages) {
      if (offset > checkpoint) break
      const code = codes.get(`${partition}/${offset}`)
      const isLogged = logged.get(eventIdOf(value))?.reference === String(value)
      const isKept = isLogged || code !== undefined
      promise(isKept, `the checkpoint of ${partition} passed ${value} at ${offset}, which is lost`)
      const isCompared = !String(value).endsWith('?')
      const isConflict = isLogged && isCompared && code === 'conflict'
      promise(!isConflict, `${value} at ${offset} of ${partition} is no conflict`)
    }
  }
}

/** A store that checks consent whenever messages are sent, and consent and the fence whenever decisions are recorded. */
export function checkedStore(store: Store, world: World, expected: ReadonlyMap<string, bigint>): Store {
  const { memory, random, scheduler, promise } = world
  return {
    ...store,
    transaction: (work) =>
      store.transaction((tx) => {
        let lockedAt = 0
        let readAt = 0
        const noting =
          <Args extends unknown[], Result>(lock: (...args: Args) => Promise<Result>) =>
          async (...args: Args) => {
            const locked = await lock(...args)
            lockedAt = scheduler.now
            return locked
          }
        return work({
          ...tx,
          lockCheckpoints: async (...args) => {
            const locked = await tx.lockCheckpoints(...args)
            lockedAt = scheduler.now
            readAt = scheduler.now
            return locked
          },
          lockEntries: noting(tx.lockEntries),
          lockRejected: noting(tx.lockRejected),
          lockRequest: noting(tx.lockRequest),
          insertEntries: noting(tx.insertEntries),
          // The network or the process may stand still once they are read.
          readPreferences: async (parties) => {
            const preferences = await tx.readPreferences(parties)
            readAt = scheduler.now
            if (random.chance(0.1)) await scheduler.step()
            return preferences
          },
          handOver: (send) => {
            const isFresh = scheduler.now - readAt <= READ_AGE_STEPS_MAX
            promise(isFresh, 'messages are sent by preferences that were read long ago')
            return tx.handOver(send)
          },
          recordDecisions: async (attempts, deliveries, revision, moves) => {
            if (attempts.length > 0) checkHolds(world)
            for (const attempt of attempts) checkConsent(world, attempt, lockedAt, readAt)
            for (const move of moves) {
              const isOwner = memory.checkpoint(move) === expected.get(partitionKey(move))
              promise(isOwner, 'a consumer that lost its partition sends')
            }
            await tx.recordDecisions(attempts, deliveries, revision, moves)
          },
        })
      }),
  }
}

/** An erasure that was answered before the last lock, and an opt-out that was answered before the last read, are heeded. */
function checkConsent(
  { erasedAt, answered, optOuts, counts, promise }: World,
  { eventId, partyLocator, decision, kind, request }: Attempt,
  lockedAt: number,
  readAt: number,
): void {
  const isRequested = request !== null && kind !== 'first'
  const isErased = (erasedAt.get(partyLocator ?? '') ?? lockedAt) < lockedAt
  promise(!isRequested || !isErased, `${eventId} is retried on request after an erasure`)
  promise(!isRequested || decision.outcome !== 'SKIP', `${eventId} is skipped again on request`)
  const changeId = Number(decision.preferenceChangeId ?? 0)
  const last = answered.filter(({ party, at }) => party === partyLocator && at < readAt).at(-1)
  if (last !== undefined) counts.heeded++
  promise(changeId >= (last?.id ?? 0), `${eventId} is decided by preferences of the past`)
  const isSend = decision.outcome === 'SEND'
  promise(!isSend || !optOuts.has(changeId), `${eventId} is sent in spite of an opt-out`)
}

/** A transport that checks the messages that it is given. */
export function checkedSend(send: Send, world: World): Send {
  return (messages, query) => {
    if (messages.length > 0) checkHolds(world)
    for (const message of messages) checkMessage(world, message)
    return send(messages, query)
  }
}

/** No attempt is made, and none is under way, from the acknowledgement of a hold to its resume. */
function checkHolds({ heldTopics, promise }: World): void {
  const isHeld = [...heldTopics.values()].some((topic) => topic === null || topic === TOPIC)
  promise(!isHeld, 'an attempt is made in spite of a hold')
}

/** A message goes to its own party's address, by the next key, and never after it was sent. */
function checkMessage({ memory, promise }: World, { idempotencyKey, to, channel }: OutgoingMessage): void {
  const [eventId = '', number] = idempotencyKey.split('/')
  const { address } = CHANNEL_KINDS[channel]
  const isTheirs = to === (address && addressOf(address, partyOf(eventId)))
  promise(isTheirs, `a message about ${eventId} goes to ${to}`)
  const isSent = memory.rows().some((row) => row.eventId === eventId && row.status === 'SENT')
  promise(!isSent, `${eventId} is sent again`)
  const untold = [...memory.entries('FAILED'), ...memory.entries('SKIPPED')]
  const row = untold.find((entry) => entry.eventId === eventId)
  const nextKey = row === undefined ? 1 : (row.unknownKey ?? row.sendCount + 1)
  promise(Number(number) === nextKey, `${eventId} is sent by the key ${idempotencyKey}`)
}

/** Checks what must hold once the faults are over and everything had its time. */
export function checkEnd({ memory, partitions, openRequests, promise }: World): void {
  for (const [partition, messages] of partitions.entries()) {
    const isConsumed = memory.checkpoint({ topic: TOPIC, partition }) === BigInt(messages.length - 1)
    promise(isConsumed, `partition ${partition} is not consumed to its end`)
  }
  promise(openRequests().length === 0, 'a request does not end')
  promise(memory.deadlockCount === 0, `${memory.deadlockCount} deadlocks`)
}
