import { commitBatch } from '../../../../src/service/attempt/commit-batch.ts'
import { until } from '../../../stack/until.ts'
import { anOpenAttempt } from '../../decide/attempt/build.ts'
import { aLookedUpBatch, aMaker, askedOf, failed, HELD, type TestOnStore } from '../build.ts'

/** Attempts while a hold is in force. */
export function testHolds(test: TestOnStore): void {
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
}
