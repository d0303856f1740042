import { commitRetries } from '../../../../src/service/attempt/retry.ts'
import type { Delivery } from '../../../../src/service/decide/attempt/delivery.ts'
import type { RetryEntry } from '../../../../src/service/decide/attempt/retry-entry.ts'
import { anOpenAttempt, FOUND, NOT_FOUND, SIMPLE_RULES, UNRESOLVED } from '../../decide/attempt/build.ts'
import {
  aMaker,
  askedOf,
  failed,
  loseConnection,
  REFUSED,
  SENT,
  skippedOne,
  skippedRow,
  type TestOnStore,
  VARIABLES,
} from '../build.ts'

/** Waits until `count` parties have called it. */
function barrier(count: number): () => Promise<void> {
  const all = Promise.withResolvers<void>()
  return async () => {
    if (--count === 0) all.resolve()
    await all.promise
  }
}

const UNKNOWN = { receipt: null, error: 'it hung', isUnknown: true } as const
const DEFERRED = { receipt: null, error: 'EMAIL deferred: quota', isDeferred: true } as const

/** Retries, in the background and on request. */
export function testRetries(test: TestOnStore): void {
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
}
