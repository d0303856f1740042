import pg from 'pg'
import {
  type Attempt,
  type LockedRow,
  nextKeyNumber,
  toLoggedRow,
} from '../../../src/service/decide/attempt/attempt.ts'
import type { Deliveries } from '../../../src/service/decide/attempt/delivery.ts'
import type { RetryEntry } from '../../../src/service/decide/attempt/retry-entry.ts'
import type { Store, Transaction } from '../../../src/service/decide/attempt/store.ts'
import { readStated } from '../../../src/service/decide/decision/facts.ts'
import type { LoggedRow } from '../../../src/service/decide/event/conflict.ts'
import { partitionKey, type TopicPartition } from '../../../src/service/decide/event/position.ts'
import type { RedriveResult, RejectedMessage } from '../../../src/service/decide/event/rejected-message.ts'
import type { Preferences, PreferencesByParty } from '../../../src/service/decide/party/preferences.ts'
import type { Hold } from '../../../src/service/model/request/hold.ts'
import type { End } from '../../../src/service/model/request/request.ts'
import type { RequestTarget, TakenRequest } from '../../../src/service/model/request/schemas.ts'
import { isWorthRestart, refusesData } from '../../../src/service/store/connection/errors.ts'

/** The log row of an attempt. */
function rowOf(
  { locator, eventId, eventType, partyLocator, ...attempt }: Attempt,
  sendError?: string | null,
) {
  const { status, attemptCount, text, decision } = attempt
  const { subject = null, body = null } = text ?? {}
  const failureReason = sendError ?? decision.failureReason
  const { channel } = decision
  const key = { locator, eventId, eventType, partyLocator }
  const wasTried = status !== 'SKIPPED' || attemptCount > 0
  return { ...key, channel, status, subject, body, failureReason, attemptCount, wasTried }
}
type Row = ReturnType<typeof rowOf>

/** The decision of an attempt. */
function recordOf(attempt: Attempt, deliveries: Deliveries, ruleTableRevision: string, decidedAt: number) {
  const { locator, eventId, partyLocator, decision, variables, origin } = attempt
  const text = attempt.text ?? (attempt.kind === 'stored retry' ? attempt.stored : null)
  const { outcome, channel, preferenceChangeId, facts, failureReason: reason } = decision
  const { receipt = null, error: sendError = null, isUnknown = false } = deliveries.get(locator) ?? {}
  const wasUnknown = attempt.kind !== 'first' && attempt.before.unknownKey !== null
  return {
    ...{ locator, eventId, partyLocator, outcome, channel, receipt, sendError, preferenceChangeId },
    ...{ ruleTableRevision, variables, origin, decidedAt, facts, reason },
    attempt: attempt.attemptCount,
    unknownKey: sendError !== null && (isUnknown || wasUnknown) ? nextKeyNumber(attempt) : null,
    templateRevision: text?.templateRevision ?? null,
    requestedBy: attempt.kind === 'first' ? null : (attempt.request?.by ?? null),
    request: attempt.request?.id ?? null,
  }
}
type RecordedAttempt = ReturnType<typeof recordOf>

export interface StoredRejection extends RejectedMessage, TopicPartition {
  readonly id: bigint
}

type MemoryRequest = TakenRequest & { readonly end: End | { readonly state: 'cancelled' } | null }

type Table = 'log' | 'decision' | 'checkpoint' | 'rejected' | 'redrive' | 'request'

/** An error as PostgreSQL reports it, with its SQLSTATE: the store judges it as src/service/store does. */
export class DatabaseFault extends pg.DatabaseError {
  constructor(code: string, message: string) {
    super(message, message.length, 'error')
    this.code = code
  }
}

/**
 * Called before each statement and each inserted row; it may wait, or throw to break the connection. On COMMIT, `lost` commits and
 * then breaks the connection.
 */
export type Step = (statement: string) => Promise<'lost' | undefined>

export interface Session extends Store {
  /** Rolls back every transaction of this process, as the server does once a client is gone. */
  kill(): void
}

/**
 * The tables of an attempt in memory, with READ COMMITTED transactions: a statement sees what is committed before it and the
 * transaction's own writes. Writers of one row or event id wait for each other; a cycle of waits is a deadlock.
 */
export class MemoryStore {
  readonly #tables = new Map<string, unknown>()
  readonly #locks = new Map<string, Scope>()
  #waiters: { readonly key: string; readonly wake: () => void }[] = []
  readonly #preferences = new Map<string, Preferences>()
  #changeCount = 0
  #rejectedCount = 0n
  #requestCount = 0
  #holds: readonly Hold[] = []
  /** Transactions that make attempts. */
  readonly #attempts = new Set<Scope>()
  #redriveCount = 0
  deadlockCount = 0
  /** Returns the database's words if it refuses the row or decision. */
  refuses: (table: 'log' | 'decision', attempt: Attempt) => string | null = () => null
  /** Called after each commit. */
  onCommit: () => void = () => {}
  now: () => number = () => 0

  connect(step: Step = async () => undefined): Session {
    const open = new Set<Scope>()
    return {
      readHolds: async () => {
        await step('readHolds')
        return this.#holds
      },
      refusesData,
      isWorthRestart,
      kill: () => {
        for (const scope of open) this.#end(scope)
        open.clear()
      },
      transaction: async (work) => {
        await step('BEGIN')
        const scope = new Scope(null, this.now())
        open.add(scope)
        try {
          const result = await work(this.#transaction(scope, step))
          const fate = await step('COMMIT')
          if (scope.isOver) throw new DatabaseFault('57P01', 'the session was ended')
          for (const [key, value] of scope.writes) this.#tables.set(key, value)
          this.#end(scope)
          this.onCommit()
          if (fate === 'lost') throw new DatabaseFault('08006', 'the reply to COMMIT was lost')
          return result
        } finally {
          this.#end(scope)
          open.delete(scope)
        }
      },
    }
  }

  rows(): Row[] {
    return this.#all<Row>('log').sort((a, b) => (a.eventId < b.eventId ? -1 : 1))
  }
  /** Ordered by attempt. */
  decisions(): RecordedAttempt[] {
    return this.#all<RecordedAttempt>('decision').sort((a, b) => a.attempt - b.attempt)
  }
  /** The rows by event id, each with the message data in its last decision. */
  logged(scope: Scope | null = null): Map<string, LoggedRow> {
    const decisions = this.#all<RecordedAttempt>('decision', scope).sort((a, b) => a.attempt - b.attempt)
    return new Map(
      this.#all<Row>('log', scope).map(({ locator, eventId, eventType, partyLocator }) => {
        const last = decisions.findLast((one) => one.locator === locator)
        const { envelopeMapRevision = null } = last?.origin ?? {}
        const { locator: reference = null, reason = null } = last?.variables ?? {}
        const message = { reference, reason, origin: last?.origin ?? null }
        return [
          eventId,
          { locator, eventId, eventType, partyLocator, ...message, envelopeMapRevision, erased: false },
        ]
      }),
    )
  }
  checkpoint(partition: TopicPartition): bigint {
    return (this.#tables.get(`checkpoint ${partitionKey(partition)}`) as bigint | undefined) ?? -1n
  }
  setCheckpoint(partition: TopicPartition, offset: bigint): void {
    this.#tables.set(`checkpoint ${partitionKey(partition)}`, offset)
  }
  rejected(): StoredRejection[] {
    return this.#all<StoredRejection>('rejected')
  }
  redrives(): RedriveResult[] {
    return this.#all<RedriveResult>('redrive')
  }
  requests(): MemoryRequest[] {
    return this.#all<MemoryRequest>('request')
  }
  addRequest(wanted: RequestTarget, by = 'alice', because = 'an outage'): string {
    const id = String(++this.#requestCount)
    const progress = { position: null, counts: {}, unchanged: [] }
    this.#tables.set(`request ${id}`, { ...wanted, id, by, because, progress, end: null })
    return id
  }
  /** Cancels a request once no transaction holds it; false if it has ended. */
  async cancelRequest(id: string): Promise<boolean> {
    const scope = new Scope(null, this.now())
    const key = `request ${id}`
    await this.#lock(scope, key, async () => {})
    const request = this.#tables.get(key) as MemoryRequest
    if (request.end === null) this.#tables.set(key, { ...request, end: { state: 'cancelled' } })
    this.#end(scope)
    return request.end === null
  }
  eraseReasons(): void {
    for (const request of this.requests())
      this.#tables.set(`request ${request.id}`, { ...request, because: 'erased' })
  }
  /** Holds topics, or all. Resolves to the id once no transaction is under way that may not have seen it. */
  async hold(topics: Hold['topics'] = null): Promise<string> {
    const id = String(++this.#requestCount)
    const hold = { id, by: 'alice', because: 'a wrong text', since: '2026-01-31T12:00:00.000000Z', topics }
    this.#holds = [...this.#holds, hold]
    await Promise.all([...this.#attempts].map(({ over }) => over.promise))
    return id
  }
  resume(hold: string): void {
    this.#holds = this.#holds.filter(({ id }) => id !== hold)
  }
  /** Erases a party once no request is under way that might write about it. */
  async erase(party: string): Promise<void> {
    const scope = new Scope(null, this.now())
    await this.#lock(scope, 'erasure', async () => {})
    this.#tables.set(`erased ${party}`, true)
    this.#end(scope)
  }
  forgetDecisions(eventId: string): void {
    for (const { locator, attempt } of this.decisions().filter((one) => one.eventId === eventId))
      this.#tables.delete(`decision ${locator}/${attempt}`)
  }

  /** Returns the number of the change. */
  putPreferences(
    partyLocator: string,
    preferences: Pick<Preferences, 'preferredChannel' | 'optedOutEvents'>,
  ): number {
    this.#preferences.set(partyLocator, {
      ...preferences,
      hasUnreadableOptOuts: false,
      changeId: String(++this.#changeCount),
    })
    return this.#changeCount
  }

  /** All rows with a status, as a retry reads them. */
  entries<Status extends RetryEntry['status']>(status: Status) {
    const decisions = this.decisions()
    return this.rows()
      .filter((row) => row.status === status)
      .map(({ locator, eventId, eventType, partyLocator, subject, body, attemptCount }) => {
        const isSend = (one: RecordedAttempt) =>
          one.locator === locator && one.outcome === 'SEND' && one.attempt > 0
        const sends = decisions.filter(isSend)
        const unknownKey = sends.at(-1)?.unknownKey ?? null
        const counts = { attemptCount, sendCount: sends.length, unknownKey }
        return { locator, eventId, eventType, partyLocator, status, subject, body, ...counts }
      })
  }

  #transaction(scope: Scope, step: Step): Transaction {
    const before = async (statement: string) => {
      await step(statement)
      if (scope.root.isOver) throw new DatabaseFault('57P01', 'the session was ended')
    }
    const lock = (key: string) => this.#lock(scope, key, before)
    return {
      lockCheckpoints: async (partitions, parties) => {
        await before('lockCheckpoints')
        this.#attempts.add(scope.root)
        const offsets = new Map<string, bigint>()
        for (const partition of partitions) {
          const key = `checkpoint ${partitionKey(partition)}`
          if (partitions.length === 1) await lock(key)
          else if (this.#isLockedByOther(scope, key)) continue
          else this.#take(scope, key)
          offsets.set(partitionKey(partition), this.#read<bigint>(scope, key) ?? -1n)
        }
        return { offsets, preferences: this.#preferencesOf(parties) }
      },
      lockEntries: async (due, isRequested) => {
        await before('lockEntries')
        if (isRequested) await lock('erasure')
        const isErased = (party: string | null | undefined) => this.#tables.has(`erased ${party}`)
        const isLeftOut = ({ locator, partyLocator }: RetryEntry) =>
          isRequested &&
          (isErased(partyLocator) || isErased(this.#read<Row>(scope, `log ${locator}`)?.partyLocator))
        return new Map(due.flatMap((entry) => (isLeftOut(entry) ? [] : this.#lockEntry(scope, entry))))
      },
      lockRequest: async ({ id, progress, because }) => {
        await before('lockRequest')
        const key = `request ${id}`
        await lock(key)
        const found = this.#read<MemoryRequest>(scope, key)
        const isSame = JSON.stringify(found?.progress.position) === JSON.stringify(progress.position)
        return found !== undefined && found.end === null && found.because === because && isSame
      },
      recordProgress: async (id, progress, end) => {
        await before('recordProgress')
        const found = this.#read<MemoryRequest>(scope, `request ${id}`)
        scope.writes.set(`request ${id}`, { ...found, progress, end })
      },
      lockRejected: async (id) => {
        await before('lockRejected')
        await lock('erasure')
        return this.rejected().some((message) => message.id === id)
      },
      readHolds: async () => {
        await before('lockAttempts')
        this.#attempts.add(scope.root)
        await before('readHolds')
        return this.#holds
      },
      readPreferences: async (parties) => {
        await before('readPreferences')
        return this.#preferencesOf(parties)
      },
      insertEntries: async (attempts) => {
        const inserted: Attempt[] = []
        const taken = new Map<string, LoggedRow>()
        let holds: readonly Hold[] | null = null
        for (const attempt of attempts) {
          await before('insertEntries')
          holds ??= this.#holds
          await lock(`event ${attempt.eventId}`)
          const own = inserted.find(({ eventId }) => eventId === attempt.eventId)
          const isLogged = this.#all<Row>('log', scope).some(({ eventId }) => eventId === attempt.eventId)
          const row = own ? toLoggedRow(own) : isLogged ? this.logged(scope).get(attempt.eventId) : undefined
          if (row !== undefined) taken.set(attempt.locator, row)
          else {
            this.#write(scope, attempt)
            inserted.push(attempt)
          }
        }
        return { inserted, taken, holds: holds ?? [] }
      },
      handOver: (send) => send(() => Promise.reject(new Error('a store in memory runs no statement'))),
      updateEntries: async (attempts, deliveries) => {
        if (attempts.length > 0) await before('updateEntries')
        for (const attempt of attempts) {
          await lock(`row ${attempt.locator}`)
          this.#write(scope, attempt, deliveries)
        }
      },
      insertRejected: async ({ topic, partition }, rejected) => {
        if (rejected.length > 0) await before('insertRejected')
        for (const one of rejected) {
          const key = `rejected ${topic}/${partition}/${one.message.offset}`
          if (this.#read(scope, key) !== undefined) continue
          scope.writes.set(key, { id: ++this.#rejectedCount, topic, partition, ...one })
        }
      },
      markSendFailures: async (inserted, deliveries) => {
        const failed = inserted.filter(({ locator }) => deliveries.get(locator)?.error != null)
        if (failed.length > 0) await before('markSendFailures')
        for (const attempt of failed) this.#write(scope, attempt, deliveries)
      },
      recordDecisions: async (attempts, deliveries, ruleTableRevision, moves) => {
        if (attempts.length > 0 || moves.length > 0) await before('recordDecisions')
        for (const attempt of attempts) this.#record(scope, attempt, deliveries, ruleTableRevision)
        for (const move of moves) {
          const key = `checkpoint ${partitionKey(move)}`
          await lock(key)
          scope.writes.set(key, move.offset)
        }
      },
      recordRedrive: async (rejectedId, by, result) => {
        await before('recordRedrive')
        scope.writes.set(`redrive ${rejectedId} ${by} ${++this.#redriveCount}`, result)
      },
      tryOut: async (work) => {
        await before('SAVEPOINT')
        const savepoint = new Scope(scope, scope.startedAt)
        try {
          await work(this.#transaction(savepoint, step))
          return null
        } catch (error) {
          if (error instanceof DatabaseFault && refusesData(error)) return error
          throw error
        } finally {
          this.#end(savepoint)
        }
      },
    }
  }

  #preferencesOf(parties: readonly string[]): PreferencesByParty {
    return new Map([...this.#preferences].filter(([party]) => parties.includes(party)))
  }

  #isLockedByOther(scope: Scope, key: string): boolean {
    const owner = this.#locks.get(key)
    return owner !== undefined && owner.root !== scope.root
  }

  #lockEntry(scope: Scope, due: RetryEntry): [string, LockedRow][] {
    const { locator, status, attemptCount } = due
    const row = this.#read<Row>(scope, `log ${locator}`)
    if (row === undefined || this.#isLockedByOther(scope, `row ${locator}`)) return []
    const last = this.#all<RecordedAttempt>('decision', scope)
      .filter((decision) => decision.locator === locator)
      .sort((a, b) => a.attempt - b.attempt)
      .at(-1)
    if (row.status !== status || row.attemptCount !== attemptCount) return []
    if (last === undefined || last.attempt > attemptCount) return []
    this.#take(scope, `row ${locator}`)
    const { origin, variables, templateRevision } = last
    return [[locator, { origin, variables, templateRevision, stated: readStated(last) }]]
  }

  #write(scope: Scope, attempt: Attempt, deliveries: Deliveries = new Map()): void {
    this.#check('log', attempt)
    scope.writes.set(`log ${attempt.locator}`, rowOf(attempt, deliveries.get(attempt.locator)?.error))
  }

  #record(scope: Scope, attempt: Attempt, deliveries: Deliveries, ruleTableRevision: string): void {
    const { locator, attemptCount } = attempt
    const key = `decision ${locator}/${attemptCount}`
    if (this.#read(scope, key) !== undefined)
      throw new DatabaseFault('23505', `${locator} has a decision ${attemptCount}`)
    this.#check('decision', attempt)
    scope.writes.set(key, recordOf(attempt, deliveries, ruleTableRevision, scope.startedAt))
  }

  #check(table: 'log' | 'decision', attempt: Attempt): void {
    const words = this.refuses(table, attempt)
    if (words !== null) throw new DatabaseFault('23514', words)
  }

  /** The committed values of a table, and those of a transaction. */
  #all<Value>(table: Table, scope: Scope | null = null): Value[] {
    const found = new Map<string, unknown>()
    for (const writes of [this.#tables, ...(scope?.chain() ?? [])])
      for (const [key, value] of writes) if (key.startsWith(`${table} `)) found.set(key, value)
    return [...found.values()] as Value[]
  }

  #read<Value>(scope: Scope, key: string): Value | undefined {
    for (let at: Scope | null = scope; at !== null; at = at.parent)
      if (at.writes.has(key)) return at.writes.get(key) as Value
    return this.#tables.get(key) as Value | undefined
  }

  async #lock(scope: Scope, key: string, before: (statement: string) => Promise<void>): Promise<void> {
    for (;;) {
      const owner = this.#locks.get(key)
      if (owner === undefined || owner.root === scope.root) break
      const { root } = scope
      for (let at: Scope | null = owner.root; at !== null; at = at.waitsFor)
        if (at === root) {
          this.deadlockCount++
          throw new DatabaseFault('40P01', `deadlock on ${key}`)
        }
      root.waitsFor = owner.root
      await new Promise<void>((wake) => this.#waiters.push({ key, wake }))
      root.waitsFor = null
      await before('woken')
    }
    this.#take(scope, key)
  }

  #take(scope: Scope, key: string): void {
    if (!this.#locks.has(key)) this.#locks.set(key, scope)
  }

  /** Ends a transaction or a savepoint: releases its locks and wakes the waiters. */
  #end(scope: Scope): void {
    scope.isOver = true
    this.#attempts.delete(scope)
    scope.over.resolve()
    const released = new Set<string>()
    for (const [key, owner] of this.#locks) if (owner === scope || owner.root === scope) released.add(key)
    for (const key of released) this.#locks.delete(key)
    const woken = this.#waiters.filter(({ key }) => released.has(key))
    this.#waiters = this.#waiters.filter(({ key }) => !released.has(key))
    for (const { wake } of woken) wake()
  }
}

/** A transaction, or a savepoint within it. */
class Scope {
  readonly writes = new Map<string, unknown>()
  readonly parent: Scope | null
  readonly root: Scope
  readonly startedAt: number
  waitsFor: Scope | null = null
  isOver = false
  readonly over = Promise.withResolvers<void>()

  constructor(parent: Scope | null, startedAt: number) {
    this.parent = parent
    this.root = parent?.root ?? this
    this.startedAt = startedAt
  }

  /** The writes of the transaction and its savepoints, outermost first. */
  chain(): ReadonlyMap<string, unknown>[] {
    return [...(this.parent?.chain() ?? []), this.writes]
  }
}
