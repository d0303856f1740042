import type { Test } from 'tap'
import { commitBatch } from '../../../src/service/attempt/commit-batch.ts'
import type { LookedUpBatch } from '../../../src/service/attempt/look-up.ts'
import { lookUpRejected, redrive } from '../../../src/service/attempt/redrive.ts'
import { commitRetries, retryLocked } from '../../../src/service/attempt/retry.ts'
import { type AttemptMaker, NO_ATTEMPTS, transact } from '../../../src/service/attempt/transact.ts'
import { takeFingerprint } from '../../../src/service/consume/records/record.ts'
import type { AttemptRequest, FirstAttempt } from '../../../src/service/decide/attempt/attempt.ts'
import type { Delivery, Send } from '../../../src/service/decide/attempt/delivery.ts'
import type { LookedUpEntry, RetryEntry } from '../../../src/service/decide/attempt/retry-entry.ts'
import { unobserved } from '../../../src/service/decide/attempt/stage.ts'
import type { Store } from '../../../src/service/decide/attempt/store.ts'
import type { ParseResult } from '../../../src/service/decide/event/parse-event.ts'
import type { StoredRejectedMessage } from '../../../src/service/decide/event/rejected-message.ts'
import type { NewPreferences } from '../../../src/service/decide/party/preferences.ts'
import type { Hold } from '../../../src/service/model/request/hold.ts'
import type { RequestTarget, RetryRequest, TakenRequest } from '../../../src/service/model/request/schemas.ts'
import type { Clock } from '../../../src/service/time/clock.ts'
import { until } from '../../stack/until.ts'
import {
  anAttempt,
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
const OPT_OUT: NewPreferences = {
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

const askedOf = (due: readonly RetryEntry[], contact = FOUND) => due.map((entry) => ({ due: entry, contact }))
const failed = (...eventIds: string[]) => eventIds.map((id) => anOpenAttempt(id, { contact: UNRESOLVED }))

const skippedOne = (eventId: string) => anOpenAttempt(eventId, { contact: NOT_FOUND })
const VARIABLES = { eventType: 'claim.paid', locator: 'CLM-2', reason: null }

/** The row of a skipped attempt, for a retry on request. */
function skippedRow(id: string): RetryEntry {
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

const HELD = { message: /^held by alice since .* because a wrong text$/ }

/** Waits until `count` parties have called it. */
function barrier(count: number): () => Promise<void> {
  const all = Promise.withResolvers<void>()
  return async () => {
    if (--count === 0) all.resolve()
    await all.promise
  }
}

const PAGE_1 = { createdAt: '2026-01-31T12:00:00.000000Z', locator: 'NTF-1' }

type Attempts = ReturnType<typeof attemptsOn>
/** A store beside attempts on it that note the keys they send by. */
function attemptsOn(store: TestStore) {
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

/** The behaviour that an attempt expects of every store. */
export function testStore(t: Test, open: () => Promise<TestStore>): void {
  const test = (name: string, run: (t: Test, seen: Attempts) => Promise<void>) =>
    t.test(name, async (t) => run(t, attemptsOn(await open())))

  test('a batch writes rows, decisions and the checkpoint together', async (t, seen) => {
    const attempts = [anOpenAttempt('b'), anOpenAttempt('a'), ...failed('c')]
    const skipped = anOpenAttempt('d', { contact: NOT_FOUND })
    const result = await seen.dispatch([...attempts, skipped])
    t.match(result, { kind: 'committed', lastOffset: 3n, inserted: { length: 4 } })
    t.strictSame(seen.keys, ['a/1', 'b/1'], 'ordered by event id')
    t.match(await seen.rows(), [
      { eventId: 'a', status: 'SENT', attemptCount: 1, subject: 'S', body: 'B', failureReason: null },
      { eventId: 'b', status: 'SENT' },
      { eventId: 'c', status: 'FAILED', attemptCount: 0, body: 'B', failureReason: 'unresolved: HTTP 500' },
      { eventId: 'd', status: 'SKIPPED', attemptCount: 0, subject: null, body: null, wasTried: false },
    ])
    t.match(await seen.decisions(), [
      {
        eventId: 'a',
        attempt: 1,
        receipt: 'r',
        sendError: null,
        ruleTableRevision: 'table',
        requestedBy: null,
      },
      { eventId: 'b', attempt: 1 },
      { eventId: 'c', attempt: 0, outcome: 'FAIL', receipt: null, templateRevision: 'rev' },
      { eventId: 'd', attempt: 0, outcome: 'SKIP', templateRevision: null, variables: { locator: 'CLM-1' } },
    ])
    t.equal(await seen.checkpoint(), 3n)
  })

  test('a batch with nothing to write moves its checkpoint', async (t, seen) => {
    await seen.dispatch([], { lastOffset: 5n })
    t.equal(await seen.checkpoint(), 5n)
  })

  test('an event that has a row is neither written nor sent again', async (t, seen) => {
    await seen.dispatch([anOpenAttempt('a')])
    const again = [anOpenAttempt('a', { locator: 'NTF-again' }), anOpenAttempt('b')]
    const result = await seen.dispatch(again, { expectedCheckpoint: 0n })
    t.strictSame(seen.keys, ['a/1', 'b/1'])
    t.match(result, { inserted: { length: 1 } })
    t.match(await seen.rows(), [{ locator: 'NTF-a' }, { eventId: 'b' }])
    t.match(await seen.decisions(), [{ locator: 'NTF-a' }, { eventId: 'b' }])
  })

  test('a checkpoint that another consumer moved: nothing is written or sent', async (t, seen) => {
    await seen.setCheckpoint(7n)
    t.strictSame(await seen.dispatch([anOpenAttempt('a')]), { kind: 'moved', checkpoint: 7n })
    t.strictSame(seen.keys, [])
    t.strictSame(await seen.rows(), [])
    t.equal(await seen.checkpoint(), 7n)
  })

  test('of two owners that commit at once, the second waits and finds it moved', async (t, seen) => {
    const results = await Promise.all([
      seen.dispatch([anOpenAttempt('a')]),
      seen.dispatch([anOpenAttempt('a', { locator: 'NTF-other' }), anOpenAttempt('b')]),
    ])
    t.strictSame(results.map(({ kind }) => kind).sort(), ['committed', 'moved'])
    t.equal(seen.keys.length, (await seen.rows()).length)
  })

  test('the same events in two partitions at once get one row and one message each', async (t, seen) => {
    const ids = Array.from({ length: 300 }, (_, i) => `event-${i}`)
    await Promise.all([
      seen.dispatch(ids.map((id) => anOpenAttempt(id))),
      seen.dispatch(
        ids.toReversed().map((id) => anOpenAttempt(id, { locator: `NTF-${id}-other` })),
        { partition: 1 },
      ),
    ])
    t.equal(seen.keys.length, 300)
    t.equal((await seen.rows()).length, 300)
    t.equal((await seen.decisions()).length, 300)
  })

  test('of the same ids in two partitions at once, other events are conflicts', async (t, seen) => {
    const ids = Array.from({ length: 40 }, (_, i) => `event-${i}`)
    const variables = (id: string) => ({ ...VARIABLES, locator: Number(id.slice(6)) % 2 ? 'CLM-1' : 'CLM-2' })
    const others = ids.map((id) =>
      anOpenAttempt(id, { locator: `NTF-${id}-other`, variables: variables(id) }),
    )
    const results = await Promise.all([
      seen.dispatch(ids.map((id) => anOpenAttempt(id))),
      seen.dispatch(others, { partition: 1 }),
    ])
    const rejected = results.flatMap((result) => (result.kind === 'committed' ? result.rejected : []))
    t.equal(rejected.length, 20)
    t.match(rejected[0], {
      rejection: {
        code: 'conflict',
        error: /: NTF-event-\d+(-other)? of claims\/[01], offset \d+, has another reference$/,
      },
    })
    t.equal((await seen.rejected()).length, 20)
    t.equal((await seen.rows()).length, 40)
    t.equal(seen.keys.length, 40)
  })

  test('of two attempts with one event id in a transaction, the second learns the row of the first', async (t, seen) => {
    const both = [anAttempt('a'), anAttempt('a', { locator: 'NTF-other' })]
    await seen.store.transaction(async (tx) => {
      const { inserted, taken } = await tx.insertEntries(both)
      t.match(inserted, [{ locator: 'NTF-a' }])
      const row = { locator: 'NTF-a', reference: 'CLM-1', partyLocator: 'party-1', origin: { offset: 0n } }
      t.match([...taken], [['NTF-other', row]])
    })
  })

  /** Takes a second over the insert of new rows, or over the locks of rows to retry and their preferences: `meanwhile` runs then. */
  function slowMaker({ store, send }: Attempts, meanwhile: () => Promise<void>): AttemptMaker {
    let nowMs = 0
    const waits = async () => {
      nowMs += 1_000
      await meanwhile()
    }
    const slow: Store = {
      ...store,
      transaction: (work) =>
        store.transaction((tx) => {
          let isRetry = false
          return work({
            ...tx,
            insertEntries: async (attempts) => {
              await waits()
              return tx.insertEntries(attempts)
            },
            lockEntries: (...args) => {
              isRetry = true
              return tx.lockEntries(...args)
            },
            readPreferences: async (parties) => {
              const preferences = await tx.readPreferences(parties)
              if (isRetry) await waits()
              isRetry = false
              return preferences
            },
          })
        }),
    }
    return aMaker(slow, send, SIMPLE_RULES, { monotonicMs: () => nowMs })
  }

  async function commitSlowly(
    seen: Attempts,
    open: readonly FirstAttempt[],
    meanwhile: () => Promise<void>,
  ): Promise<void> {
    await commitBatch(slowMaker(seen, meanwhile), aLookedUpBatch(open))
  }

  test('preferences that change while a retry waits are heeded, on request too', async (t, seen) => {
    await seen.dispatch(failed('a', 'b'))
    const [a, b] = await seen.due()
    const optOut = () => seen.putPreferences('party-1', OPT_OUT)
    await commitRetries(slowMaker(seen, optOut), askedOf(a === undefined ? [] : [a]))
    t.match(await seen.rows(), [{ eventId: 'a', status: 'SKIPPED', attemptCount: 1, wasTried: true }, {}])

    await seen.putPreferences('party-1', { ...OPT_OUT, optedOutEvents: [] })
    const request = await seen.request()
    const made = await commitRequested(slowMaker(seen, optOut), askedOf(b === undefined ? [] : [b]), request)
    t.strictSame(made, [])
    t.match(await seen.rows(), [{}, { eventId: 'b', status: 'FAILED', attemptCount: 0 }])
    t.strictSame(seen.keys, [])
  })

  test('preferences that change while rows wait to be written are heeded', async (t, seen) => {
    await commitSlowly(seen, [anOpenAttempt('a')], () => seen.putPreferences('party-1', OPT_OUT))
    t.strictSame(seen.keys, [])
    t.match(await seen.rows(), [
      {
        eventId: 'a',
        status: 'SKIPPED',
        attemptCount: 0,
        subject: null,
        failureReason: 'opted out',
        wasTried: false,
      },
    ])
    t.match(await seen.decisions(), [{ eventId: 'a', attempt: 0, outcome: 'SKIP', receipt: null }])
  })

  test('a party who changes preferences in each transaction holds up nobody, not even herself', async (t, seen) => {
    const others = { partyLocator: 'party-2' }
    let changeCount = 0
    const change = () => seen.putPreferences('party-1', { ...OPT_OUT, phone: String(++changeCount) })
    await commitSlowly(
      seen,
      [anOpenAttempt('a'), anOpenAttempt('b', others), anOpenAttempt('c'), anOpenAttempt('d', others)],
      change,
    )
    t.strictSame(seen.keys, ['b/1', 'd/1'])
    t.match(await seen.rows(), [
      { eventId: 'a', status: 'SKIPPED' },
      { eventId: 'b', status: 'SENT' },
      { eventId: 'c', status: 'SKIPPED' },
      { eventId: 'd', status: 'SENT' },
    ])
    t.equal(changeCount, 1, 'the transaction did not start again')
    t.equal(await seen.checkpoint(), 3n)
  })

  test('a party who opts in again while rows wait to be written is told', async (t, seen) => {
    await seen.putPreferences('party-1', OPT_OUT)
    const optIn: NewPreferences = { ...OPT_OUT, preferredChannel: 'SMS', optedOutEvents: [] }
    const answers = new Map<string, Delivery>([
      ['b', { receipt: null, error: 'mailbox full' }],
      ['c', { receipt: null, error: 'quota', isDeferred: true }],
    ])
    seen.answerOf = (eventId) => answers.get(eventId) ?? SENT
    const events = ['a', 'b', 'c'].map((id) => anOpenAttempt(id))
    await commitSlowly(seen, events, () => seen.putPreferences('party-1', optIn))
    t.strictSame(seen.keys, ['a/1', 'b/1', 'c/1'])
    t.match(await seen.rows(), [
      { eventId: 'a', status: 'SENT', attemptCount: 1, subject: 'S', failureReason: null },
      { eventId: 'b', status: 'FAILED', attemptCount: 1, subject: 'S', failureReason: 'mailbox full' },
      { eventId: 'c', status: 'FAILED', attemptCount: 0, failureReason: 'quota', wasTried: true },
    ])
    t.match(await seen.decisions(), [
      { eventId: 'a', attempt: 1, receipt: 'r' },
      { eventId: 'b', attempt: 1, sendError: 'mailbox full' },
      { eventId: 'c', attempt: 0, sendError: 'quota' },
    ])
  })

  test('of several checkpoints, those that another transaction locks are left out', async (t, seen) => {
    const first = { topic: 'claims', partition: 0 }
    const second = { topic: 'claims', partition: 1 }
    await seen.dispatch([anOpenAttempt('a')])
    await seen.dispatch([anOpenAttempt('b')], { partition: 1 })
    await seen.store.transaction(async (holding) => {
      await holding.lockCheckpoints([first], [])
      await seen.store.transaction(async (tx) => {
        const { offsets } = await tx.lockCheckpoints([first, second], [])
        t.strictSame([...offsets], [['claims/1', 0n]])
        const moves = [{ ...second, offset: 3n, lastMessage: null }]
        await tx.recordDecisions([], new Map(), 'table', moves)
      })
    })
    await seen.putPreferences('party-1', OPT_OUT)
    const both = await seen.store.transaction((tx) =>
      tx.lockCheckpoints([second, first], ['party-1', 'party-2']),
    )
    t.strictSame([...both.preferences.keys()], ['party-1'])
    t.strictSame([...both.offsets].sort(), [
      ['claims/0', 0n],
      ['claims/1', 3n],
    ])
  })

  test('preferences that change while a batch waits for its lock are heeded', async (t, seen) => {
    const locked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    const holding = seen.store.transaction(async (tx) => {
      await tx.lockCheckpoints([{ topic: 'claims', partition: 0 }], [])
      locked.resolve()
      await answered.promise
    })
    await locked.promise
    const dispatched = seen.dispatch([anOpenAttempt('a')])
    await seen.putPreferences('party-1', OPT_OUT)
    answered.resolve()
    await Promise.all([holding, dispatched])
    t.strictSame(seen.keys, [])
    t.match(await seen.rows(), [{ status: 'SKIPPED', failureReason: 'opted out' }])
    t.match(await seen.decisions(), [{ preferenceChangeId: String }])
  })

  test('a row whose sender fails is FAILED, for the sender’s reason', async (t, seen) => {
    seen.answerOf = (eventId) => (eventId === 'a' ? REFUSED : SENT)
    const result = await seen.dispatch([anOpenAttempt('a'), anOpenAttempt('b')])
    t.match(result, { inserted: [{ status: 'FAILED' }, { status: 'SENT' }] }, 'as it is stored')
    t.match(await seen.rows(), [
      { status: 'FAILED', failureReason: 'mailbox full', attemptCount: 1, body: 'B' },
      { status: 'SENT', failureReason: null },
    ])
    t.match(await seen.decisions(), [
      { outcome: 'SEND', receipt: null, sendError: 'mailbox full', unknownKey: null },
      { receipt: 'r' },
    ])
  })

  test('a transaction that fails leaves nothing behind', async (t, seen) => {
    await seen.dispatch(failed('a'))
    seen.answerOf = loseConnection
    const rejected = [{ message: { offset: 9n, key: null, value: null, headers: {} }, rejection: NOT_JSON }]
    await t.rejects(
      seen.dispatch([anOpenAttempt('b')], { expectedCheckpoint: 0n, rejected }),
      /the connection is lost/,
    )
    await t.rejects(seen.retry())
    t.match(await seen.rows(), [{ eventId: 'a', status: 'FAILED', attemptCount: 0 }])
    t.equal((await seen.decisions()).length, 1)
    t.strictSame(await seen.rejected(), [])
    t.equal(await seen.checkpoint(), 0n)
  })

  test('a message that is no event is kept, once', async (t, seen) => {
    const rejected = [{ message: { offset: 0n, key: null, value: null, headers: {} }, rejection: NOT_JSON }]
    for (let i = 0; i < 2; i++) {
      await seen.setCheckpoint(-1n)
      await seen.dispatch([], { rejected, lastOffset: 0n })
    }
    t.match(await seen.rejected(), [{ offset: 0n, error: 'no' }])
    t.equal((await seen.rejected()).length, 1)
  })

  for (const table of ['log', 'decision'] as const) {
    test(`an event that the ${table} refuses is rejected alone, with all its messages`, async (t, seen) => {
      await seen.refuse(table, 'bad')
      const ids = ['a', 'b', 'c', 'bad', 'd', 'e', 'f', 'g']
      const lookedUp = aLookedUpBatch(ids.map((id) => anOpenAttempt(id)))
      const copy = { offset: 8n, key: null, value: Buffer.from('bad'), headers: {} }
      const again = { message: copy, event: aParsedEvent('bad') }
      const readings = (id: string) => [...lookedUp.readings(id), ...(id === 'bad' ? [again] : [])]
      const result = await commitBatch(seen.maker, { ...lookedUp, readings })
      t.match(result, { kind: 'committed', rejected: { length: 2 }, inserted: { length: 7 } })
      t.match(await seen.rejected(), [
        { offset: 3n, error: /^the database refuses the row: .*trap/ },
        { offset: 8n },
      ])
      t.equal((await seen.rows()).length, 7)
      t.equal(await seen.checkpoint(), 7n)
      const count = seen.keys.filter((key) => key === 'bad/1').length
      t.equal(count, table === 'log' ? 0 : 1, 'a fault of a decision shows after the first send')
      await seen.dispatch([anOpenAttempt('bad'), anOpenAttempt('h')], { expectedCheckpoint: 7n })
      t.equal(seen.keys.filter((key) => key === 'bad/1').length, count, 'and never again')
      t.ok(seen.keys.includes('h/1'))
    })

    test(`a ${table} that refuses everything rejects no message, and sends at most once`, async (t, seen) => {
      await seen.refuse(table, null)
      for (let i = 0n; i < 3n; i++) {
        await t.rejects(seen.dispatch([anOpenAttempt('a')]), /trap/)
        const nothingNew = { partition: 1, expectedCheckpoint: i - 1n, lastOffset: i }
        t.match(await seen.dispatch([], nothingNew), { kind: 'committed' })
      }
      t.equal(seen.keys.length, table === 'log' ? 0 : 1)
      t.strictSame(await seen.rejected(), [])
      t.equal(await seen.checkpoint(), -1n)
    })
  }

  test('a batch of a held topic is neither written nor sent until the resume', async (t, seen) => {
    const elsewhere = await seen.hold(['billing'])
    t.match(await seen.dispatch([anOpenAttempt('before')]), { kind: 'committed' })
    for (const topics of [['claims'], null]) {
      const hold = await seen.hold(topics)
      await t.rejects(seen.dispatch([anOpenAttempt('a')], { expectedCheckpoint: 0n }), HELD)
      await seen.resume(hold)
    }
    t.strictSame(seen.keys, ['before/1'])
    t.equal((await seen.rows()).length, 1)
    t.equal(await seen.checkpoint(), 0n)
    await seen.resume(elsewhere)
    await seen.dispatch([anOpenAttempt('a')], { expectedCheckpoint: 0n })
    t.strictSame(seen.keys, ['before/1', 'a/1'])
  })

  test('a hold is acknowledged after the attempts under way, and holds up no other', async (t, seen) => {
    const sending = Promise.withResolvers<void>()
    const sent = Promise.withResolvers<void>()
    const maker = aMaker(seen.store, async (messages, query) => {
      sending.resolve()
      await sent.promise
      return seen.send(messages, query)
    })
    const running = commitBatch(maker, aLookedUpBatch([anOpenAttempt('a')]))
    await sending.promise
    let isAcknowledged = false
    const hold = seen.hold(['claims']).then((id) => {
      isAcknowledged = true
      return id
    })
    await until(async () => (await seen.store.readHolds()).length > 0, { what: 'the hold' })
    const later = seen.dispatch([anOpenAttempt('b')], { partition: 1 })
    await t.rejects(later, HELD, 'it does not wait for the hold')
    t.notOk(isAcknowledged)
    sent.resolve()
    await running
    await hold
    t.ok(seen.keys.includes('a/1'))
  })

  test('a held entry keeps its attempts, alone in the background and with its whole page on request', async (t, seen) => {
    await seen.dispatch(failed('a'))
    const hold = await seen.hold(['claims'])
    const { attempts, unchanged } = await seen.retry()
    t.strictSame(attempts, [])
    t.match([...unchanged], [[/./, HELD.message]])
    await t.rejects(seen.retryOnRequest(askedOf(await seen.due())), HELD)
    t.strictSame(seen.keys, [])
    t.match(await seen.rows(), [{ status: 'FAILED', attemptCount: 0 }])
    await seen.resume(hold)
    await seen.retry()
    t.strictSame(seen.keys, ['a/1'])
  })

  test('a retry is sent once, counted, and explained by a decision of its own', async (t, seen) => {
    await seen.dispatch(failed('a'))
    const [due] = await seen.due()
    t.match(due, { eventId: 'a', attemptCount: 0, sendCount: 0, unknownKey: null, body: 'B' })
    const next = { ...SIMPLE_RULES, ruleTable: { ...SIMPLE_RULES.ruleTable, revision: 'table-2' } }
    const { attempts } = await commitRetries(aMaker(seen.store, seen.send, next), askedOf(await seen.due()))
    t.match(attempts, [{ status: 'SENT', address: 'member@example.com' }])
    t.strictSame(seen.keys, ['a/1'])
    t.match(await seen.rows(), [{ status: 'SENT', attemptCount: 1, failureReason: null, body: 'B' }])
    t.match(await seen.decisions(), [
      { attempt: 0, outcome: 'FAIL' },
      {
        attempt: 1,
        outcome: 'SEND',
        receipt: 'r',
        ruleTableRevision: 'table-2',
        templateRevision: 'rev',
        variables: { locator: 'CLM-1' },
        origin: { topic: 'claims', offset: 0n, envelopeMapRevision: 'ghi' },
      },
    ])
  })

  test('a retry that is skipped clears the text; one that fails again keeps it', async (t, seen) => {
    await seen.dispatch(failed('a', 'b'))
    const [a, b] = await seen.due()
    if (a === undefined || b === undefined) throw new Error('too little is due')
    const asked = [...askedOf([a], NOT_FOUND), ...askedOf([b], UNRESOLVED)]
    await commitRetries(seen.maker, asked)
    t.match(await seen.rows(), [
      { status: 'SKIPPED', attemptCount: 1, subject: null, body: null, failureReason: 'not found' },
      { status: 'FAILED', attemptCount: 1, body: 'B' },
    ])
  })

  test('retries of the same rows at once make each attempt once', async (t, seen) => {
    await seen.dispatch(failed('a', 'b', 'c'))
    const due = await seen.due()
    const made = await Promise.all([
      commitRetries(seen.maker, askedOf(due)),
      commitRetries(seen.maker, askedOf(due)),
    ])
    t.equal(made.flatMap((one) => one.attempts).length, 3)
    t.strictSame(seen.keys.sort(), ['a/1', 'b/1', 'c/1'])
    t.strictSame(
      (await commitRetries(seen.maker, askedOf(due))).attempts,
      [],
      'a row that has changed is left alone',
    )
  })

  test('a row that failed again since it was read is left alone', async (t, seen) => {
    await seen.dispatch(failed('a'))
    const due = await seen.due()
    seen.answerOf = () => REFUSED
    for (const count of [1, 0]) {
      const { attempts, refused } = await commitRetries(seen.maker, askedOf(due))
      t.strictSame([attempts.length, refused.size], [count, 0])
    }
    t.strictSame(seen.keys, ['a/1'])
  })

  test('a row that another transaction holds is left alone at once', async (t, seen) => {
    await seen.dispatch(failed('a', 'b'))
    const due = await seen.due()
    const meet = barrier(2)
    const lockThen = (entries: readonly RetryEntry[]) =>
      seen.store.transaction(async (tx) => {
        const locked = await tx.lockEntries(entries, false)
        await meet()
        return [...locked.keys()]
      })
    const locked = await Promise.all([lockThen(due), lockThen(due)])
    t.strictSame(locked.flat().sort(), ['NTF-a', 'NTF-b'])
  })

  test('a row that no decision explains is left alone', async (t, seen) => {
    await seen.dispatch(failed('a', 'b', 'c'))
    await seen.forgetDecisions('b')
    await seen.retry()
    t.strictSame(seen.keys, ['a/1', 'c/1'])
  })

  test('a retry that the database refuses stays as it is, is reported, and delays no other', async (t, seen) => {
    await seen.dispatch(failed('a', 'b', 'c'))
    await seen.refuse('decision', 'b', 1)
    const { attempts, refused } = await seen.retry()
    t.equal(attempts.length, 2)
    t.match([...refused], [[{ locator: 'NTF-b' }, /trap/]])
    t.match(await seen.rows(), [
      { status: 'SENT' },
      { status: 'FAILED', attemptCount: 0 },
      { status: 'SENT' },
    ])
    const count = seen.keys.length
    const next = await seen.retry()
    t.match([next.attempts, [...next.refused.keys()]], [[], [{ locator: 'NTF-b' }]])
    t.equal(seen.keys.length, count, 'the next pass sends nothing')
  })

  test('a skipped row is retried on request only, and rendered if it is sent', async (t, seen) => {
    await seen.dispatch([skippedOne('a'), skippedOne('b')])
    const skipped = ['a', 'b'].map(skippedRow)
    const failedOnes = skipped.map((row) => ({ ...row, status: 'FAILED' as const, subject: 'S', body: 'B' }))
    t.strictSame((await commitRetries(seen.maker, askedOf(failedOnes))).attempts, [], 'they are not FAILED')
    const asked = [...askedOf(skipped.slice(0, 1)), ...askedOf(skipped.slice(1), NOT_FOUND)]
    const { attempts, unchanged } = await seen.retryOnRequest(asked)
    t.match(attempts, [{ locator: 'NTF-a' }])
    t.strictSame([...unchanged], [['NTF-b', 'it would be skipped again: not found']])
    t.strictSame(seen.keys, ['a/1'])
    t.match(await seen.rows(), [
      { status: 'SENT', subject: 'S', body: 'B', attemptCount: 1 },
      { status: 'SKIPPED', body: null, attemptCount: 0 },
    ])
    t.match(await seen.decisions(), [
      { attempt: 0, request: null },
      {
        attempt: 1,
        request: '1',
        requestedBy: 'alice',
        variables: { ...VARIABLES, locator: 'CLM-1' },
        templateRevision: 'rev',
      },
      { attempt: 0 },
    ])
    t.strictSame((await seen.retryOnRequest(asked.slice(0, 1))).attempts, [], 'it has changed')
  })

  test('the idempotency key counts committed sends, and stays while one is unknown', async (t, seen) => {
    seen.answerOf = () => UNKNOWN
    const retry = async (next: Delivery, contact = FOUND) => {
      seen.answerOf = () => next
      await seen.retry(contact)
    }
    await seen.dispatch([anOpenAttempt('a')])
    await retry(UNKNOWN)
    await retry(UNKNOWN, UNRESOLVED)
    await retry(REFUSED)
    await retry(UNKNOWN)
    await retry(SENT)
    t.strictSame(seen.keys, Array(5).fill('a/1'), 'a later error says nothing about the first send')
    t.match(await seen.rows(), [{ status: 'SENT', attemptCount: 6 }])

    seen.keys.length = 0
    await seen.dispatch(failed('b'), { expectedCheckpoint: 0n })
    seen.answerOf = loseConnection
    await t.rejects(seen.retry())
    await retry(REFUSED, UNRESOLVED)
    await retry(REFUSED)
    await retry(REFUSED, UNRESOLVED)
    await retry(SENT)
    t.strictSame(
      seen.keys,
      ['b/1', 'b/1', 'b/2'],
      'a send that was rolled back is made again; one that was refused is over',
    )
  })

  test('a first message that is deferred costs no attempt, and is sent under the same key', async (t, seen) => {
    seen.answerOf = () => DEFERRED
    const result = await seen.dispatch([anOpenAttempt('a')])
    t.match(result, { inserted: [{ status: 'FAILED', attemptCount: 0 }] })
    t.match(await seen.rows(), [
      { status: 'FAILED', attemptCount: 0, failureReason: 'EMAIL deferred: quota', body: 'B' },
    ])
    t.match(await seen.decisions(), [
      { attempt: 0, outcome: 'SEND', receipt: null, sendError: 'EMAIL deferred: quota', unknownKey: null },
    ])
    t.match(await seen.due(), [{ attemptCount: 0, sendCount: 0, unknownKey: null }])
    const { unchanged } = await seen.retry()
    t.strictSame([...unchanged], [['NTF-a', 'EMAIL deferred: quota']])
    seen.answerOf = () => UNKNOWN
    await seen.retry()
    seen.answerOf = () => SENT
    await seen.retry()
    t.strictSame(seen.keys, Array(4).fill('a/1'))
    t.match(await seen.rows(), [{ status: 'SENT', attemptCount: 2, failureReason: null }])
    t.match(await seen.decisions(), [
      { attempt: 0 },
      { attempt: 1, unknownKey: 1 },
      { attempt: 2, receipt: 'r' },
    ])
  })

  test('a retry that is deferred leaves its row and its decisions unchanged', async (t, seen) => {
    seen.answerOf = () => REFUSED
    await seen.dispatch([anOpenAttempt('a'), ...failed('b')])
    await seen.dispatch([skippedOne('c')], { expectedCheckpoint: 1n })
    const before = { rows: await seen.rows(), decisions: await seen.decisions() }
    seen.answerOf = () => DEFERRED
    const { attempts, unchanged } = await seen.retry()
    const requested = await seen.retryOnRequest(askedOf([skippedRow('c')]))
    t.strictSame([attempts, requested.attempts], [[], []])
    t.strictSame([...unchanged.keys(), ...requested.unchanged.keys()].toSorted(), ['NTF-a', 'NTF-b', 'NTF-c'])
    t.strictSame({ rows: await seen.rows(), decisions: await seen.decisions() }, before)
    seen.answerOf = () => SENT
    await seen.retry()
    t.strictSame(seen.keys.toSorted(), ['a/1', 'a/2', 'a/2', 'b/1', 'b/1', 'c/1'])
  })

  test('a redrive writes its row and its record, moves no checkpoint, and is made once', async (t, seen) => {
    const message = { offset: 4n, key: null, value: Buffer.from('a'), headers: {} }
    await seen.dispatch([], { rejected: [{ message, rejection: NOT_JSON }], lastOffset: 4n })
    const [{ id } = { id: 0n }] = await seen.rejected()
    let locatorCount = 0
    const needs = {
      parserFor: () => (): ParseResult => ({ kind: 'event', event: aParsedEvent('a') }),
      envelopeMapRevision: 'ghi',
      parseBy: () => ({ kind: 'tombstone' as const }),
      findLogged: async () => [{ rows: new Map(), pruned: [] }],
      lookUpContacts: async (parties: readonly string[]) => new Map(parties.map((party) => [party, FOUND])),
      stage: unobserved,
      newLocator: () => `NTF-${locatorCount++}`,
      takeFingerprint,
    }
    const rejected = { ...REJECTED, id, message }
    const redriveOnce = async (message: StoredRejectedMessage, request?: TakenRequest) =>
      redrive(seen.maker, message, await lookUpRejected(needs, message), request ?? (await seen.request()))
    const hold = await seen.hold(null)
    await t.rejects(redriveOnce(rejected), HELD)
    t.strictSame(seen.keys, [])
    await seen.resume(hold)
    const request = await seen.request()
    const results = await Promise.all([redriveOnce(rejected, request), redriveOnce(rejected)])
    t.strictSame(results.map((progress) => JSON.stringify(progress?.counts)).sort(), [
      '{"duplicate":1}',
      '{"logged":1}',
    ])
    t.equal(await redriveOnce(rejected, request), null, 'its request is past it')
    t.strictSame(seen.keys, ['a/1'])
    t.match(await seen.rows(), [{ eventId: 'a', status: 'SENT' }])
    t.match(await seen.decisions(), [
      { origin: { topic: 'claims', partition: 0, offset: 4n }, request: /^\d+$/, requestedBy: null },
    ])
    t.strictSame((await seen.redrives()).toSorted(), ['duplicate', 'logged'])
    t.equal(await seen.checkpoint(), 4n)
    const gone = await redriveOnce({ ...rejected, id: 999n })
    t.match(gone?.unchanged, [{ reason: /erased or pruned meanwhile/ }])
    t.equal((await seen.redrives()).length, 2)
  })

  test('a page of a request is written once, and not after its end', async (t, seen) => {
    await seen.dispatch([skippedOne('a'), skippedOne('b')])
    const [a, b] = ['a', 'b'].map((name) => askedOf([skippedRow(name)]))
    const request = await seen.request()
    const made = await Promise.all([seen.retryOnRequest(a, request), seen.retryOnRequest(b, request)])
    t.equal(
      made.flatMap((one) => one.attempts).length,
      1,
      'of two replicas with the same page, one writes it',
    )
    t.equal(seen.keys.length, 1)
    const [next] = await seen.requests()
    t.match(next, { position: PAGE_1, isOpen: true })
    const end = { state: 'done', note: null } as const
    const after = { ...request, progress: { ...request.progress, position: PAGE_1 } }
    await seen.store.transaction(async (tx) => {
      t.equal(await tx.lockRequest(after), true)
      await tx.recordProgress(request.id, after.progress, end)
    })
    t.match(await seen.requests(), [{ position: PAGE_1, isOpen: false }])
    t.strictSame((await seen.retryOnRequest(b, after)).attempts, [], 'it has ended')
    t.equal(await seen.store.transaction((tx) => tx.lockRequest(after)), false)
  })

  test('a trial is rolled back, and lets go of what it wrote', async (t, seen) => {
    await seen.store.transaction(async (tx) => {
      const attempts = [anAttempt('a')]
      t.equal(await tx.tryOut((savepoint) => savepoint.insertEntries(attempts)), null)
      await seen.dispatch([anOpenAttempt('a', { locator: 'NTF-other' })])
      t.strictSame((await tx.insertEntries(attempts)).inserted, [], 'another transaction wrote it meanwhile')
    })
    t.equal((await seen.rows()).length, 1)
  })
}
export const REJECTED = {
  topic: 'claims',
  partition: 0,
  code: 'not-json',
  error: 'no',
  rejectedAt: '2026-01-31T12:00:00.000000Z',
  erasedAt: null,
  redriven: null,
}
const NOT_JSON = { code: 'not-json', error: 'no' } as const
const UNKNOWN = { receipt: null, error: 'it hung', isUnknown: true } as const
const DEFERRED = { receipt: null, error: 'EMAIL deferred: quota', isDeferred: true } as const
const REFUSED = { receipt: null, error: 'mailbox full' }
const SENT = { receipt: 'r', error: null }
function loseConnection(): never {
  throw new Error('the connection is lost')
}
