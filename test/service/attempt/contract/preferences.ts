import { commitBatch } from '../../../../src/service/attempt/commit-batch.ts'
import { commitRetries } from '../../../../src/service/attempt/retry.ts'
import type { AttemptMaker } from '../../../../src/service/attempt/transact.ts'
import type { FirstAttempt } from '../../../../src/service/decide/attempt/attempt.ts'
import type { Delivery } from '../../../../src/service/decide/attempt/delivery.ts'
import type { Store } from '../../../../src/service/decide/attempt/store.ts'
import type { NewPreferences } from '../../../../src/service/decide/party/preferences.ts'
import { anOpenAttempt, SIMPLE_RULES } from '../../decide/attempt/build.ts'
import {
  type Attempts,
  aLookedUpBatch,
  aMaker,
  askedOf,
  commitRequested,
  failed,
  OPT_OUT,
  SENT,
  type TestOnStore,
} from '../build.ts'

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

/** Preferences that change while an attempt waits. */
export function testPreferences(test: TestOnStore): void {
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
}
