import { lookUpRejected, redrive } from '../../../../src/service/attempt/redrive.ts'
import { takeFingerprint } from '../../../../src/service/consume/records/record.ts'
import { unobserved } from '../../../../src/service/decide/attempt/stage.ts'
import type { ParseResult } from '../../../../src/service/decide/event/parse-event.ts'
import type { StoredRejectedMessage } from '../../../../src/service/decide/event/rejected-message.ts'
import type { TakenRequest } from '../../../../src/service/model/request/schemas.ts'
import { anAttempt, anOpenAttempt, aParsedEvent, FOUND } from '../../decide/attempt/build.ts'
import {
  askedOf,
  HELD,
  NOT_JSON,
  PAGE_1,
  REJECTED,
  skippedOne,
  skippedRow,
  type TestOnStore,
} from '../build.ts'

/** Redrives, pages of requests and trials. */
export function testRequests(test: TestOnStore): void {
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

  test('a page whose reason was erased after it was taken is not written: it would store the reason', async (t, seen) => {
    await seen.dispatch([skippedOne('a')])
    const request = await seen.request()
    await seen.eraseReasons()
    const asked = askedOf([skippedRow('a')])
    t.strictSame((await seen.retryOnRequest(asked, request)).attempts, [])
    const again = { ...request, because: 'erased' }
    t.equal((await seen.retryOnRequest(asked, again)).attempts.length, 1)
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
