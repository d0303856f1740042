import { commitBatch } from '../../../../src/service/attempt/commit-batch.ts'
import { anAttempt, anOpenAttempt, aParsedEvent, NOT_FOUND } from '../../decide/attempt/build.ts'
import {
  aLookedUpBatch,
  failed,
  loseConnection,
  NOT_JSON,
  OPT_OUT,
  REFUSED,
  SENT,
  type TestOnStore,
  VARIABLES,
} from '../build.ts'

/** A batch: its rows, decisions, rejected messages and checkpoint. */
export function testBatches(test: TestOnStore): void {
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
}
