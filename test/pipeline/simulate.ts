import { pino } from 'pino'
import { type Attempt, nextKeyNumber } from '../../src/core/attempt/attempt.ts'
import type { Delivery, Send } from '../../src/core/attempt/delivery.ts'
import type { RetryCandidate } from '../../src/core/attempt/retry-candidate.ts'
import type { Store, Transaction } from '../../src/core/attempt/store.ts'
import type { Dispatch } from '../../src/core/batch/batch.ts'
import { unobserved } from '../../src/core/batch/stage.ts'
import type { Message } from '../../src/core/event/message.ts'
import type { Parsed } from '../../src/core/event/parse-event.ts'
import { partitionKey, placeKey } from '../../src/core/event/position.ts'
import type { StoredRejectedMessage } from '../../src/core/event/rejected-message.ts'
import {
  ADDRESSES,
  type Address,
  CHANNEL_KINDS,
  CHANNELS,
  type Channel,
} from '../../src/core/party/channel.ts'
import type { Contact } from '../../src/core/party/contact.ts'
import type { RequestTarget } from '../../src/core/request/schemas.ts'
import { takeFingerprint } from '../../src/kafka/records/record.ts'
import { type AttemptSource, createAttempt, type Made } from '../../src/pipeline/attempt.ts'
import { createDispatch, type DispatchNeeds } from '../../src/pipeline/dispatch.ts'
import { processPage, type RequestNeeds } from '../../src/pipeline/requests.ts'
import { createRetry } from '../../src/pipeline/retry.ts'
import { createRandom } from '../bench/random.ts'
import { aCandidateDecision, aParsedEvent, aRetryCandidate, SIMPLE_RULES } from '../core/attempt/build.ts'
import { aFound } from '../core/build.ts'
import {
  DatabaseFault,
  isTransactionRollback,
  MemoryStore,
  type Session,
  type StoredRejection,
} from './memory-store.ts'
import { Scheduler } from './scheduler.ts'

const TOPIC = 'claims'
const EVENT_IDS = ['a', 'b', 'c', 'd', 'e', 'f'] as const
const PARTIES = ['party-0', 'party-1', 'party-2'] as const
const ATTEMPT_COUNT_MAX = 5
const STEP_COUNT_MAX = 20_000
const DEFERRED = 'EMAIL deferred: quota'
const SILENT = pino({ level: 'silent' })
/** Items of a page of a request. */
const PAGE_COUNT = 2

/** The event id in a message's value. */
const idOf = (value: string) => value.replace(/[!~?]/g, '')
/** The party that an event is about. */
const partyOf = (eventId: string) => PARTIES[EVENT_IDS.indexOf(eventId as 'a') % PARTIES.length] ?? PARTIES[0]

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
  heeded: 0,
  rollbacks: 0,
  /** Messages with the event id of another one. */
  clashes: 0,
  deferred: 0,
  unknownOnes: 0,
})
export type Counts = ReturnType<typeof noCounts>

/** Replaces a store by one with a defect. `expected` holds the checkpoints that the actor's batches expect, by `partitionKey`. */
export type Sabotage = (store: Store, expected: ReadonlyMap<string, bigint>) => Store

/**
 * One schedule, step by step, beside a database and processes that fail: an owner of one partition, two of this and another with
 * the same events, background retries, people who ask for retries and redrives or cancel them, two replicas that do it, erasures
 * and changes of preferences. Returns the broken promises, none if all hold.
 */
export async function simulate(
  seed: number,
  counts: Counts,
  sabotage: Sabotage = (store) => store,
): Promise<readonly string[]> {
  const random = createRandom(seed)
  const scheduler = new Scheduler(random)
  const memory = new MemoryStore()
  memory.now = () => scheduler.now
  const violations: string[] = []
  const require = (holds: boolean, promise: string) => {
    if (!holds) violations.push(`at step ${scheduler.now}: ${promise}`)
  }
  /** Changes of preferences that were answered. */
  const answered: { readonly party: string; readonly id: number; readonly at: number }[] = []
  const optOuts = new Set<number>()
  /** Steps at which the erasure of a party was answered. */
  const erasedAt = new Map<string, number>()
  /** The decisions of a request when its cancellation was answered. */
  const cancelledWith = new Map<string, number>()
  /** The keys under which the transport accepted a message, by event. It remembers them, whatever becomes of the answer. */
  const acceptedKeys = new Map<string, Set<string>>()
  const partitions = [aPartition(), aPartition()]
  let isFaulty = true
  let locatorCount = 0
  if (random.chance(0.25)) refuseOneEvent()
  memory.onCommit = () => {
    counts.commits++
    checkCommitted()
  }

  /**
   * Messages of a partition; `!` makes one that is rejected until it is redriven, `~` another one with the same event id,
   * `?` one whose party only the next envelope map finds.
   */
  function aPartition(): Message[] {
    return Array.from({ length: 3 + random.below(4) }, (_, i) => {
      const value = Buffer.from(
        `${random.chance(0.15) ? '!' : ''}${random.pick(EVENT_IDS)}${random.pick(['', '', '', '~', '?'])}`,
      )
      return { offset: BigInt(i), key: null, value, headers: {} }
    })
  }

  function refuseOneEvent(): void {
    const eventId = random.pick(EVENT_IDS)
    const table = random.pick(['log', 'decision'] as const)
    const fromAttempt = random.below(3)
    memory.refuses = (of, attempt) => {
      const isRefused = of === table && attempt.eventId === eventId && attempt.attemptCount >= fromAttempt
      if (isRefused) counts.refused++
      return isRefused ? 'refused' : null
    }
  }

  /** A process: each of its steps is scheduled, and may be its last. */
  function startActor(): Actor {
    let isDead = false
    const actor: Actor = {
      expected: new Map(),
      step: async () => {
        await scheduler.step(random.chance(0.03) ? 5 + random.below(40) : 0)
        if (isFaulty && !isDead && random.chance(0.004)) {
          counts.crashes++
          isDead = true
          session.kill()
        }
        if (isDead) await new Promise(() => {})
      },
      attempt: () => Promise.reject(new Error('not started')),
      store: memory.connect(),
    }
    const session: Session = memory.connect(async (statement) => {
      await actor.step()
      if (!isFaulty) return undefined
      if (random.chance(0.006)) throw new DatabaseFault('08006', 'the connection is lost')
      if (random.chance(0.006)) {
        counts.rollbacks++
        throw new DatabaseFault('40001', 'could not serialize access')
      }
      if (statement !== 'COMMIT' || !random.chance(0.03)) return undefined
      counts.lostReplies++
      return 'lost'
    })
    const store = checked(sabotage(session, actor.expected), actor.expected)
    actor.store = store
    actor.attempt = createAttempt({
      ...SIMPLE_RULES,
      store,
      send: sendBy(actor),
      stage: unobserved,
      // Each step takes longer than a write may: preferences that change during one must be noticed.
      nowMs: () => scheduler.now * 1_000,
    })
    return actor
  }

  /** Checks promise 4 when a decision is recorded: an opt-out answered before the last read of preferences is heeded. */
  function checked(store: Store, expected: Actor['expected']): Store {
    return {
      ...store,
      transaction: (work) =>
        store.transaction((tx) => {
          let lockedAt = 0
          const noting =
            <Args extends unknown[], Result>(lock: (...args: Args) => Promise<Result>) =>
            async (...args: Args) => {
              const locked = await lock(...args)
              lockedAt = scheduler.now
              return locked
            }
          return work({
            ...tx,
            lockCheckpoints: noting(tx.lockCheckpoints),
            lockEntries: noting(tx.lockEntries),
            lockRejected: noting(tx.lockRejected),
            lockRequest: noting(tx.lockRequest),
            insertEntries: noting(tx.insertEntries),
            recordDecisions: async (attempts, deliveries, revision, moves) => {
              for (const attempt of attempts) checkConsent(attempt, lockedAt)
              for (const move of moves)
                require(memory.checkpoint(move) ===
                  expected.get(partitionKey(move)), 'a consumer that lost its partition sends')
              await tx.recordDecisions(attempts, deliveries, revision, moves)
            },
          })
        }),
    }
  }

  function checkConsent(
    { eventId, partyLocator, decision, before, request }: Attempt,
    lockedAt: number,
  ): void {
    const isRequested = request !== null && before !== null
    const isErased = (erasedAt.get(partyLocator ?? '') ?? lockedAt) < lockedAt
    require(!isRequested || !isErased, `${eventId} is retried on request after an erasure`)
    require(!isRequested || decision.outcome !== 'SKIP', `${eventId} is skipped again on request`)
    const changeId = Number(decision.preferenceChangeId ?? 0)
    const last = answered.filter(({ party, at }) => party === partyLocator && at < lockedAt).at(-1)
    if (last !== undefined) counts.heeded++
    require(changeId >= (last?.id ?? 0), `${eventId} is decided by preferences of the past`)
    require(decision.outcome !== 'SEND' ||
      !optOuts.has(changeId), `${eventId} is sent in spite of an opt-out`)
  }

  function sendBy(actor: Actor): Send {
    return async (messages) => {
      const deliveries = new Map<string, Delivery>()
      for (const { locator, idempotencyKey, to, channel } of messages) {
        counts.sends++
        const [eventId = '', number] = idempotencyKey.split('/')
        const address = CHANNEL_KINDS[channel].address
        require(to ===
          (address && addressOf(address, partyOf(eventId))), `a message about ${eventId} goes to ${to}`)
        const due = [...memory.entries('FAILED'), ...memory.entries('SKIPPED')]
        const before = due.find((entry) => entry.eventId === eventId) ?? null
        const isSent = memory.rows().some((row) => row.eventId === eventId && row.status === 'SENT')
        require(!isSent, `${eventId} is sent again`)
        require(Number(number) ===
          nextKeyNumber({ before } as Attempt), `${eventId} is sent by the key ${idempotencyKey}`)
        deliveries.set(locator, transport(eventId, idempotencyKey))
      }
      if (messages.length > 0) await actor.step()
      return deliveries
    }
  }

  /** A transport that accepts each key once, and may answer at any time that it did not, or does not know. */
  function transport(eventId: string, key: string): Delivery {
    if (random.chance(0.15)) {
      counts.deferred++
      return { receipt: null, error: DEFERRED, isDeferred: true }
    }
    const keys = acceptedKeys.get(eventId) ?? new Set()
    const isUnknown = random.chance(0.15)
    const isRefused = !keys.has(key) && random.chance(isUnknown ? 0.5 : 0.1)
    if (!isRefused) acceptedKeys.set(eventId, keys.add(key))
    require(keys.size <= 1, `${eventId} is accepted under the keys ${[...keys]}`)
    if (isUnknown) counts.unknownOnes++
    if (isUnknown) return { receipt: null, error: 'it hung', isUnknown }
    return isRefused ? { receipt: null, error: 'mailbox full' } : { receipt: 'r', error: null }
  }

  const committedBefore = partitions.map(() => -1n)
  /** Checks what must hold after every commit. */
  function checkCommitted(): void {
    const rows = new Map(memory.rows().map((row) => [row.locator, row]))
    const eventIds = new Set([...rows.values()].map(({ eventId }) => eventId))
    require(eventIds.size === rows.size, 'an event has two rows')
    const decisions = memory.decisions()
    const last = new Map(decisions.map((decision) => [decision.locator, decision]))
    for (const { locator, eventId, attempt, origin, sendError } of decisions) {
      require(sendError !== DEFERRED || attempt === 0, `a deferral of ${eventId} costs an attempt`)
      require(rows.has(locator), `decision ${attempt} on ${eventId} has no row`)
      const checkpoint = memory.checkpoint(origin)
      require(origin.offset <= checkpoint, `${eventId} is logged from beyond the checkpoint`)
    }
    for (const { locator, eventId, status, attemptCount, channel } of rows.values()) {
      const decision = last.get(locator)
      require(decision?.attempt === attemptCount &&
        decision.channel === channel, `no decision explains ${eventId}`)
      const isSent = decision?.outcome === 'SEND' && decision.sendError === null
      const expected = isSent ? 'SENT' : decision?.outcome === 'SKIP' ? 'SKIPPED' : 'FAILED'
      require(status === expected, `${eventId} is ${status} though its last decision makes it ${expected}`)
    }
    for (const { id, progress } of memory.requests()) {
      const made = decisions.filter(({ request }) => request === id)
      const { unchanged = 0, duplicate = 0, ...results } = progress.counts
      const sum = Object.values(results).reduce((all, count) => all + count, 0)
      require(made.length === sum, `request ${id} counts ${sum} of its ${made.length} attempts`)
      require(new Set(made.map(({ locator }) => locator)).size ===
        made.length, `request ${id} tries an entry twice`)
      require((cancelledWith.get(id) ?? made.length) ===
        made.length, `request ${id} goes on after it was cancelled`)
    }
    const codes = new Map<string, string>(
      memory
        .rejected()
        .map(({ partition, message, rejection }) => [`${partition}/${message.offset}`, rejection.code]),
    )
    const logged = memory.logged()
    for (const [partition, messages] of partitions.entries()) {
      const checkpoint = memory.checkpoint({ topic: TOPIC, partition })
      require(checkpoint >= (committedBefore[partition] ?? -1n), 'a checkpoint moves back')
      committedBefore[partition] = checkpoint
      for (const { offset, value } of messages) {
        if (offset > checkpoint) break
        const code = codes.get(`${partition}/${offset}`)
        const isLogged = logged.get(idOf(String(value)))?.reference === String(value)
        require(isLogged ||
          code !== undefined, `the checkpoint of ${partition} passed ${value} at ${offset}, which is lost`)
        const isCompared = !String(value).endsWith('?')
        require(!isLogged ||
          code !== 'conflict' ||
          !isCompared, `${value} at ${offset} of ${partition} is no conflict`)
      }
    }
  }

  function needsOf(actor: Actor, revision: 'map' | 'next map' = 'map'): DispatchNeeds {
    return {
      parserFor: () => (message) => parseMessage(message, revision),
      envelopeMapRevision: revision,
      parseBy: (_, message, then) => parseMessage(message, then ?? revision),
      findLogged: async () => {
        await actor.step()
        return { rows: memory.logged(), pruned: [] }
      },
      lookUpContacts: (parties) => lookUpContacts(actor, parties),
      newLocator: () => `NTF-${locatorCount++}`,
      takeFingerprint,
      attempt: (source) => actor.attempt(source),
      countRestart: () => {},
      stage: unobserved,
      isTransactionRollback,
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

  async function lookUpContacts(
    actor: Actor,
    parties: readonly string[],
  ): Promise<ReadonlyMap<string, Contact>> {
    await actor.step()
    const askedCount = random.chance(0.1) ? 1 : parties.length
    return new Map(parties.slice(0, askedCount).map((party) => [party, contactOf(party)]))
  }

  function contactOf(party: string): Contact {
    if (random.chance(0.2)) return { state: 'unresolved', error: 'HTTP 500', costsNoAttempt: false }
    if (random.chance(0.1)) return { state: 'not found' }
    return aFound(Object.fromEntries(ADDRESSES.map((address) => [address, addressOf(address, party)])))
  }

  /** Consumes partitions to their ends, side by side. */
  async function own(owned: readonly number[], actor: Actor): Promise<void> {
    const dispatch = createDispatch(needsOf(actor))
    await Promise.all(owned.map((partition) => consumeAgain(partition, actor, dispatch)))
  }

  async function consumeAgain(partition: number, actor: Actor, dispatch: Dispatch): Promise<void> {
    const messages = partitions[partition] ?? []
    for (let tries = 0; tries < 30; tries++) {
      await actor.step()
      const place = { topic: TOPIC, partition }
      actor.expected.set(partitionKey(place), memory.checkpoint(place))
      try {
        if (await consume(messages, partition, actor, dispatch)) return
      } catch (error) {
        if (!(error instanceof DatabaseFault)) throw error
      }
    }
  }

  async function consume(
    messages: readonly Message[],
    partition: number,
    actor: Actor,
    dispatch: Dispatch,
  ): Promise<boolean> {
    const key = partitionKey({ topic: TOPIC, partition })
    for (;;) {
      const expected = actor.expected.get(key) ?? -1n
      const start = Number(expected) + 1
      const batch = messages.slice(start, start + 1 + random.below(4))
      const lastOffset = batch.at(-1)?.offset
      if (lastOffset === undefined) return true
      const place = { topic: TOPIC, partition, messages: batch, expectedCheckpoint: expected }
      const result = await dispatch({ ...place, lastOffset, lastMessage: null })
      if (result.kind === 'moved') counts.moved++
      else counts.clashes += result.rejected.filter(({ rejection }) => rejection.code === 'conflict').length
      actor.expected.set(key, result.kind === 'moved' ? result.checkpoint : result.lastOffset)
    }
  }

  async function retryInBackground(actor: Actor): Promise<void> {
    const { pass } = createRetry<number>({
      listDueEntries: async () => {
        await actor.step()
        const due = memory.entries('FAILED').filter(({ attemptCount }) => attemptCount < ATTEMPT_COUNT_MAX)
        return { due, next: null }
      },
      lookUpContacts: (parties) => lookUpContacts(actor, parties),
      isDown: () => false,
      attempt: (source) => countRetried(actor, source),
      stage: unobserved,
      clock: { nowMs: () => scheduler.now, sleep: async () => {} },
      log: SILENT,
    })
    for (let i = 0; i < 3; i++) {
      await scheduler.step(random.below(60))
      await pass()
    }
  }

  /** People ask for entries by name, for all that were not told, and for rejected messages; some ask twice, or cancel. */
  async function ask(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      await scheduler.step(random.below(120))
      const locators = memory.rows().map(({ locator }) => locator)
      const isRedrive = random.chance(0.4)
      const target: RequestTarget = isRedrive
        ? { kind: 'redrive', target: { filter: { upTo: '999' } } }
        : {
            kind: 'retry',
            target: {
              ...(random.chance(0.5) && locators.length > 0 ? { locators } : { filter: { to: 'now' } }),
              readAgain: random.chance(0.5) || undefined,
            },
          }
      const id = memory.addRequest(target)
      if (random.chance(0.3)) {
        counts.askedAgain++
        memory.addRequest(target, 'bob')
      }
      await scheduler.step(random.below(60))
      if (random.chance(0.3) && (await memory.cancelRequest(id))) {
        counts.cancelled++
        cancelledWith.set(id, decisionsOf(id).length)
      }
    }
  }

  const decisionsOf = (id: string) => memory.decisions().filter(({ request }) => request === id)

  /** A replica works on open requests in any order: its lease is no promise, only the fence is. */
  async function serve(actor: Actor, turnCount: number): Promise<void> {
    for (let turn = 0; turn < turnCount; turn++) {
      await scheduler.step(random.below(30))
      const request = random.pick([null, ...memory.requests().filter(({ end }) => end === null)])
      if (request === null) continue
      counts.pages++
      const before = request.progress
      await processPage(requestNeedsOf(actor), request).catch((error) => {
        if (!(error instanceof DatabaseFault)) throw error
      })
      const after = memory.requests().find(({ id }) => id === request.id)
      if (after?.progress === before && after.end === null) counts.lostPages++
    }
  }

  async function serveToTheEnd(actor: Actor): Promise<void> {
    const open = () => memory.requests().filter(({ end }) => end === null)
    for (let turn = 0; turn < 1_000 && open().length > 0; turn++) {
      const [request] = open()
      if (request !== undefined) await processPage(requestNeedsOf(actor), request)
    }
    require(open().length === 0, 'a request does not end')
  }

  function requestNeedsOf(actor: Actor): RequestNeeds {
    const unused = () => Promise.reject(new Error('not part of the simulation'))
    const store = actor.store
    return {
      take: unused,
      listCandidates: async (target, after) => {
        await actor.step()
        const wanted = memory
          .rows()
          .filter(({ locator, status }) =>
            'locators' in target ? target.locators.includes(locator) : status !== 'SENT',
          )
          .filter(({ locator }) => after === null || locator < after.locator)
          .sort((a, b) => (a.locator < b.locator ? 1 : -1))
        const candidates = wanted.slice(0, PAGE_COUNT).map(candidateOf)
        const last = candidates.at(-1)
        const isMore = wanted.length > candidates.length && last !== undefined
        return { candidates, next: isMore ? { createdAt: last.createdAt, locator: last.locator } : null }
      },
      listRejected: async (_, after) => {
        await actor.step()
        const left = memory.rejected().filter(({ id }) => id > BigInt(after ?? 0))
        return left
          .sort((a, b) => Number(a.id - b.id))
          .slice(0, PAGE_COUNT)
          .map(repaired)
      },
      lookUpContacts: (parties) => lookUpContacts(actor, parties),
      isDown: () => false,
      readMessages: async (places) => {
        await actor.step()
        return new Map(
          places.map((place) => [
            placeKey(place),
            partitions[place.partition]?.[Number(place.offset)] ?? null,
          ]),
        )
      },
      lookUps: needsOf(actor, 'next map'),
      attempt: async (source) => {
        const made = await actor.attempt(source)
        for (const { before, origin, decision } of made?.attempts ?? []) {
          counts[before === null ? 'redriven' : 'retried']++
          const isReadAgain = before !== null && origin.envelopeMapRevision !== 'map'
          if (isReadAgain && decision.facts.party === 'found') counts.readAgain++
        }
        return made
      },
      record: (request, progress, end) =>
        store.transaction(async (tx) => {
          if (await tx.lockRequest(request)) await tx.recordProgress(request.id, progress, end)
        }),
      dismissPage: unused,
      skip: unused,
      release: unused,
      postpone: async () => {},
      notePaused: unused,
      sleep: unused,
      log: SILENT,
    }
  }

  function candidateOf({ locator, status }: { locator: string; status: string }): RetryCandidate {
    const entry = [...memory.entries('FAILED'), ...memory.entries('SKIPPED')].find(
      (one) => one.locator === locator,
    )
    if (entry === undefined || status === 'SENT') return aRetryCandidate(locator, { status: 'SENT' })
    const { reference } = memory.logged().get(entry.eventId) ?? {}
    const variables = { eventType: 'claim.paid', locator: reference ?? '', reason: null }
    const { origin } = memory.decisions().findLast((one) => one.locator === locator) ?? {}
    const decision = aCandidateDecision({ ...origin, variables })
    return aRetryCandidate(locator, { ...entry, status: status as 'FAILED', isGivenUp: true, decision })
  }

  function repaired({ id, topic, partition, message }: StoredRejection): StoredRejectedMessage {
    const value = Buffer.from(String(message.value).replace('!', ''))
    const stored = { code: 'not-json', error: 'no', rejectedAt: '', erasedAt: null, redriven: null }
    return { id, topic, partition, message: { ...message, value }, ...stored }
  }

  async function erase(): Promise<void> {
    await scheduler.step(random.below(600))
    if (!random.chance(0.3)) return
    const party = random.pick(PARTIES)
    await memory.erase(party)
    counts.erasedOnes++
    erasedAt.set(party, scheduler.now)
  }

  async function countRetried(actor: Actor, source: AttemptSource): Promise<Made | null> {
    const made = await actor.attempt(source)
    counts.retried += made?.attempts.length ?? 0
    return made
  }

  async function changePreferences(actor: Actor): Promise<void> {
    for (let i = 0; i < 4; i++) {
      await scheduler.step(random.below(30))
      const party = random.pick(PARTIES)
      const isOptOut = random.chance(0.5)
      const optedOutEvents = new Set(isOptOut ? ['claim.paid'] : [])
      const preferredChannel = random.pick(CHANNELS as [Channel, ...Channel[]])
      const id = memory.putPreferences(party, { preferredChannel, optedOutEvents })
      if (isOptOut) optOuts.add(id)
      await actor.step()
      answered.push({ party, id, at: scheduler.now })
    }
  }

  function spawn(run: (actor: Actor) => Promise<void>): void {
    run(startActor()).catch((error) => {
      if (!(error instanceof DatabaseFault))
        violations.push(error instanceof Error ? (error.stack ?? '') : '')
    })
  }

  for (const owned of [[0], [0, 1], [1, 0]]) spawn((actor) => own(owned, actor))
  for (const run of [retryInBackground, retryInBackground, changePreferences, ask, erase]) spawn(run)
  for (const turnCount of [12, 12]) spawn((actor) => serve(actor, turnCount))
  await scheduler.run(STEP_COUNT_MAX)
  isFaulty = false
  spawn((actor) => own([...partitions.keys()], actor))
  spawn(serveToTheEnd)
  await scheduler.run(STEP_COUNT_MAX)
  for (const [partition, messages] of partitions.entries())
    require(memory.checkpoint({ topic: TOPIC, partition }) ===
      BigInt(messages.length - 1), `partition ${partition} is not consumed to its end`)
  require(memory.deadlockCount === 0, `${memory.deadlockCount} deadlocks`)
  return violations
}

interface Actor {
  /** The expected checkpoints of the batches under way, by `partitionKey`. */
  readonly expected: Map<string, bigint>
  readonly step: () => Promise<void>
  attempt: ReturnType<typeof createAttempt>
  store: Store
}

function parseMessage({ value }: Message, envelopeMapRevision: string): Parsed {
  const text = String(value)
  if (text.startsWith('!')) return { kind: 'rejection', rejection: { code: 'not-json', error: 'no' } }
  const eventId = idOf(text)
  const partyLocator = text.endsWith('?') && envelopeMapRevision === 'map' ? null : partyOf(eventId)
  const event = aParsedEvent(eventId, { partyLocator, reference: text })
  return { kind: 'event', event }
}

const addressOf = (address: Address, party: string) => `${address} of ${party}`

/** Defects of the transaction that the simulator must find, each as a store that has it. */
export const DEFECTS: Readonly<Record<string, Sabotage>> = {
  'no fence': (store, expected) =>
    wrap(store, (tx) => ({
      lockCheckpoints: async (_, parties) => ({
        offsets: new Map(expected),
        preferences: await tx.readPreferences(parties),
      }),
    })),
  'a fence compared after the write': (store, expected) =>
    wrap(store, (tx) => ({
      lockCheckpoints: async (_, parties) => ({
        offsets: new Map(expected),
        preferences: await tx.readPreferences(parties),
      }),
      recordDecisions: async (attempts, deliveries, revision, moves) => {
        const { offsets } = await tx.lockCheckpoints(moves, [])
        if (moves.some((move) => offsets.get(partitionKey(move)) !== expected.get(partitionKey(move))))
          throw new DatabaseFault('08000', 'moved')
        await tx.recordDecisions(attempts, deliveries, revision, moves)
      },
    })),
  'shared checkpoints that are waited for': (store) =>
    wrap(store, (tx) => ({
      lockCheckpoints: async (partitions, parties) => {
        const locked = []
        for (const partition of partitions) locked.push(await tx.lockCheckpoints([partition], parties))
        const offsets = new Map(locked.flatMap((one) => [...one.offsets]))
        return { offsets, preferences: await tx.readPreferences(parties) }
      },
    })),
  'preferences read before the lock': (store) =>
    wrap(store, (tx) => {
      const read = tx.readPreferences(PARTIES)
      const after =
        <Args extends unknown[], Result>(lock: (...args: Args) => Promise<Result>) =>
        async (...args: Args) => {
          await read
          return lock(...args)
        }
      return {
        lockCheckpoints: async (partitions, parties) => {
          const preferences = await read
          return { ...(await tx.lockCheckpoints(partitions, parties)), preferences }
        },
        lockEntries: after(tx.lockEntries),
        lockRejected: after(tx.lockRejected),
        lockRequest: after(tx.lockRequest),
        readPreferences: () => read,
      }
    }),
  'preferences read only once': (store) =>
    wrap(store, (tx) => {
      let first: ReturnType<Transaction['readPreferences']> | undefined
      const readPreferences: Transaction['readPreferences'] = (parties) =>
        (first ??= tx.readPreferences(parties))
      return {
        readPreferences,
        lockCheckpoints: async (partitions, parties) => {
          const locked = await tx.lockCheckpoints(partitions, parties)
          first = Promise.resolve(locked.preferences)
          return locked
        },
      }
    }),
  'rows in no order': (store) => {
    let count = 0
    return wrap(store, (tx) => ({
      insertEntries: (attempts) => tx.insertEntries(count++ % 2 === 0 ? attempts : attempts.toReversed()),
    }))
  },
  'a conflict that is taken for a duplicate in a race': (store) =>
    wrap(store, (tx) => ({
      insertEntries: async (attempts) => ({ ...(await tx.insertEntries(attempts)), taken: new Map() }),
    })),
  'a duplicate that is taken for a conflict in a race': (store) =>
    wrap(store, (tx) => ({
      insertEntries: async (attempts) => {
        const { inserted, taken } = await tx.insertEntries(attempts)
        const others = [...taken].map(([id, row]) => [id, { ...row, eventType: 'another' }] as const)
        return { inserted, taken: new Map(others) }
      },
    })),
  'decisions recorded for rows that lost': (store) =>
    wrap(store, (tx) => {
      let all: readonly Attempt[] = []
      return {
        insertEntries: (attempts) => {
          all = attempts
          return tx.insertEntries(attempts)
        },
        recordDecisions: (attempts, ...rest) =>
          tx.recordDecisions([...new Set([...all, ...attempts])], ...rest),
      }
    }),
  'a checkpoint moved in another transaction': (store) => ({
    ...store,
    transaction: async (work) => {
      let moves: Parameters<Transaction['recordDecisions']>[3] = []
      const result = await wrap(store, (tx) => ({
        recordDecisions: (attempts, deliveries, revision, moved) => {
          moves = moved
          return tx.recordDecisions(attempts, deliveries, revision, [])
        },
      })).transaction(work)
      await store.transaction((tx) => tx.recordDecisions([], new Map(), 'table', moves))
      return result
    },
  }),
  'a deferral that costs an attempt': (store) =>
    wrap(store, (tx) => ({
      recordDecisions: (attempts, ...rest) =>
        tx.recordDecisions(
          attempts.map((attempt) => ({ ...attempt, attemptCount: Math.max(attempt.attemptCount, 1) })),
          ...rest,
        ),
    })),
  'an unknown send that is taken for a refused one': (store) =>
    wrap(store, (tx) => ({
      recordDecisions: (attempts, deliveries, ...rest) => {
        const known = [...deliveries].map(
          ([locator, { receipt, error }]) => [locator, { receipt, error }] as const,
        )
        return tx.recordDecisions(attempts, new Map(known), ...rest)
      },
    })),
  'a page of a request without its fence': (store) => wrap(store, () => ({ lockRequest: async () => true })),
  'a cancelled request that goes on': (store) =>
    wrap(store, (tx) => ({
      lockRequest: async (request) => {
        await tx.lockRequest(request)
        return true
      },
    })),
  'progress recorded in another transaction': (store) => ({
    ...store,
    transaction: async (work) => {
      let recorded: Parameters<Transaction['recordProgress']> | undefined
      const result = await wrap(store, () => ({
        recordProgress: async (...progress) => {
          recorded = progress
        },
      })).transaction(work)
      if (recorded !== undefined) {
        const progress = recorded
        await store.transaction((tx) => tx.recordProgress(...progress))
      }
      return result
    },
  }),
  'a retry on request that ignores erasures': (store) =>
    wrap(store, (tx) => ({ lockEntries: (due) => tx.lockEntries(due, false) })),
  'a message read again that ignores the erasure of its party': (store) =>
    wrap(store, (tx) => ({
      lockEntries: (due, isRequested) => {
        const unnamed = due.map((entry) =>
          entry.envelopeMapRevision ? { ...entry, partyLocator: null } : entry,
        )
        return tx.lockEntries(unnamed, isRequested)
      },
    })),
  'a retry without its lock': (store) =>
    wrap(store, (tx) => ({
      lockEntries: async (...args) => {
        let found: Awaited<ReturnType<Transaction['lockEntries']>> = new Map()
        await tx.tryOut(async (savepoint) => {
          found = await savepoint.lockEntries(...args)
        })
        return found
      },
    })),
}
function wrap(store: Store, change: (tx: Transaction) => Partial<Transaction>): Store {
  return { ...store, transaction: (work) => store.transaction((tx) => work({ ...tx, ...change(tx) })) }
}
