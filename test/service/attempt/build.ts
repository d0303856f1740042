import type { Test } from 'tap'
import { commitBatch } from '../../../src/service/attempt/commit-batch.ts'
import type { LookedUpBatch } from '../../../src/service/attempt/look-up.ts'
import { commitRetries, retryLocked } from '../../../src/service/attempt/retry.ts'
import { type AttemptMaker, NO_ATTEMPTS, transact } from '../../../src/service/attempt/transact.ts'
import type { AttemptRequest, FirstAttempt } from '../../../src/service/decide/attempt/attempt.ts'
import type { Delivery, Send } from '../../../src/service/decide/attempt/delivery.ts'
import type { LookedUpEntry, RetryEntry } from '../../../src/service/decide/attempt/retry-entry.ts'
import { unobserved } from '../../../src/service/decide/attempt/stage.ts'
import type { Store } from '../../../src/service/decide/attempt/store.ts'
import type { NewPreferences } from '../../../src/service/decide/party/preferences.ts'
import type { Hold } from '../../../src/service/model/request/hold.ts'
import type { RequestTarget, RetryRequest, TakenRequest } from '../../../src/service/model/request/schemas.ts'
import type { Clock } from '../../../src/service/time/clock.ts'
import {
  anOpenAttempt,
  aParsedEvent,
  FOUND,
  NOT_FOUND,
  recordingSend,
  SIMPLE_RULES,
  UNRESOLVED,
} from '../decide/attempt/build.ts'

/** A store with empty tables, and what the tests arrange and look at beside it. */
export interface TestStore {
  readonly store: Store
  /** By event id. */
  rows(): Promise<readonly object[]>
  /** By event id and attempt. */
  decisions(): Promise<readonly object[]>
  /** By offset. */
  rejected(): Promise<readonly { readonly id: bigint; readonly offset: bigint; readonly error: string }[]>
  /** The results of redrives. */
  redrives(): Promise<readonly string[]>
  /** Adds a request of alice, and takes it. Each has its number, from 1. */
  request(): Promise<RetryRequest>
  /** Holds topics, null: all. Resolves to the id at the acknowledgement. */
  hold(topics: Hold['topics']): Promise<string>
  resume(hold: string): Promise<void>
  requests(): Promise<readonly { readonly position: unknown; readonly isOpen: boolean }[]>
  /** Blanks the reasons of all requests. */
  eraseReasons(): Promise<void>
  /** The checkpoint of partition 0. */
  checkpoint(): Promise<bigint>
  setCheckpoint(offset: bigint): Promise<void>
  /** FAILED rows, by event id. */
  due(): Promise<readonly RetryEntry[]>
  putPreferences(partyLocator: string, preferences: NewPreferences): Promise<void>
  /** Refuses attempts of an event from the given number on, or of all events if it is null. */
  refuse(table: 'log' | 'decision', eventId: string | null, fromAttempt?: number): Promise<void>
  forgetDecisions(eventId: string): Promise<void>
}

export const RETRY_ALL: RequestTarget = {
  kind: 'retry',
  target: { filter: { to: '2999-01-01T00:00:00.000000Z' } },
}
export const OPT_OUT: NewPreferences = {
  email: null,
  phone: null,
  preferredChannel: 'EMAIL',
  optedOutEvents: ['claim.paid'],
}

/** A batch of these attempts, one message each, from offset 0 on. */
export function aLookedUpBatch(
  open: readonly FirstAttempt[],
  { partition = 0, expectedCheckpoint = -1n, rejected = [], ...rest }: Partial<Batched> = {},
): LookedUpBatch {
  const messages = open.map((attempt, i) => ({
    offset: expectedCheckpoint + BigInt(i + 1),
    key: null,
    value: Buffer.from(attempt.eventId),
    headers: {},
  }))
  const readings = (id: string) =>
    open.flatMap(({ eventId, eventType, partyLocator, variables }, i) => {
      const event = aParsedEvent(id, { eventType, partyLocator, reference: variables.locator })
      const message = messages[i]
      return eventId === id && message !== undefined ? [{ message, event }] : []
    })
  const lastOffset = rest.lastOffset ?? expectedCheckpoint + BigInt(messages.length)
  const { lastMessage = null } = rest
  return {
    batch: { topic: 'claims', partition, messages, expectedCheckpoint, lastOffset, lastMessage },
    open: open.map((attempt, i) => ({
      ...attempt,
      origin: { ...attempt.origin, partition, offset: messages[i]?.offset ?? 0n },
    })),
    rejected,
    tombstoneCount: 0,
    repeated: new Set(),
    readings,
  }
}
type Batched = Pick<
  LookedUpBatch['batch'],
  'partition' | 'expectedCheckpoint' | 'lastOffset' | 'lastMessage'
> &
  Pick<LookedUpBatch, 'rejected'>

const STOPPED_CLOCK: Clock = { monotonicMs: () => 0, startTimer: () => () => {}, sleep: async () => {} }

/** Makes attempts under a clock that stands, except for `ticking`. */
export function aMaker(
  store: Store,
  send: Send,
  rules = SIMPLE_RULES,
  ticking: Partial<Clock> = {},
): AttemptMaker {
  const clock = { ...STOPPED_CLOCK, ...ticking }
  return { ...rules, store, send, stage: unobserved, clock, onCommit: () => {}, mustProbe: false }
}

/** The attempts of a request on these rows, without its page and progress. */
export async function commitRequested(
  maker: AttemptMaker,
  asked: readonly LookedUpEntry[],
  request: AttemptRequest,
) {
  return (await transact(maker, (run) => retryLocked(run, asked, request))).attempts
}

export const askedOf = (due: readonly RetryEntry[], contact = FOUND) =>
  due.map((entry) => ({ due: entry, contact }))
export const failed = (...eventIds: string[]) =>
  eventIds.map((id) => anOpenAttempt(id, { contact: UNRESOLVED }))

export const skippedOne = (eventId: string) => anOpenAttempt(eventId, { contact: NOT_FOUND })
export const VARIABLES = { eventType: 'claim.paid', locator: 'CLM-2', reason: null }

/** The row of a skipped attempt, for a retry on request. */
export function skippedRow(id: string): RetryEntry {
  const { locator, eventId, eventType, partyLocator } = anOpenAttempt(id)
  const row = {
    locator,
    eventId,
    eventType,
    partyLocator,
    status: 'SKIPPED',
    subject: null,
    body: null,
  } as const
  const counts = { attemptCount: 0, sendCount: 0, unknownKey: null }
  return { ...row, ...counts }
}

export const HELD = { message: /^held by alice since .* because a wrong text$/ }

export const PAGE_1 = { createdAt: '2026-01-31T12:00:00.000000Z', locator: 'NTF-1' }

export type Attempts = ReturnType<typeof attemptsOn>

/** A store beside attempts on it that note the keys they send by. */
export function attemptsOn(store: TestStore) {
  const { keys, send } = recordingSend((eventId) => seen.answerOf(eventId))
  const maker = aMaker(store.store, send)
  const seen = {
    ...store,
    keys,
    send,
    maker,
    answerOf: (_eventId: string): Delivery => SENT,
    dispatch: (...batch: Parameters<typeof aLookedUpBatch>) => commitBatch(maker, aLookedUpBatch(...batch)),
    /** A page of a request, by default of a new one. */
    retryOnRequest: async (asked: readonly LookedUpEntry[] = [], request?: TakenRequest) => {
      const taken = request ?? (await store.request())
      return transact(maker, async (run) => {
        if (!(await run.tx.lockRequest(taken))) return NO_ATTEMPTS
        const result = await retryLocked(run, asked, taken)
        await run.tx.recordProgress(taken.id, { ...taken.progress, position: PAGE_1 }, null)
        return result
      })
    },
    /** Retries all that is due. */
    retry: async (contact = FOUND) => commitRetries(maker, askedOf(await store.due(), contact)),
  }
  return seen
}

/** Adds a test that gets attempts on a store of its own. */
export type TestOnStore = (name: string, run: (t: Test, seen: Attempts) => Promise<void>) => void

export const REJECTED = {
  topic: 'claims',
  partition: 0,
  code: 'not-json',
  error: 'no',
  rejectedAt: '2026-01-31T12:00:00.000000Z',
  erasedAt: null,
  redriven: null,
}
export const NOT_JSON = { code: 'not-json', error: 'no' } as const
export const REFUSED = { receipt: null, error: 'mailbox full' }
export const SENT = { receipt: 'r', error: null }

export function loseConnection(): never {
  throw new Error('the connection is lost')
}
