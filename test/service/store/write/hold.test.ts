import t from 'tap'
import { findHold } from '../../../../src/service/model/request/hold.ts'
import { readHolds } from '../../../../src/service/store/read/read-holds.ts'
import { addRequest } from '../../../../src/service/store/write/request-row.ts'
import { resumeHolds } from '../../../../src/service/store/write/resume-holds.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
t.beforeEach(() => client.query('TRUNCATE notifications.request'))

/** Stores an open request as another version may. */
const store = (kind: string, target: object) =>
  client.query(
    `INSERT INTO notifications.request (kind, target, requested_by, because) VALUES ($1, $2, 'alice', 'a test')`,
    [kind, target],
  )

t.test('an open request holds what it names until it is resumed', async (t) => {
  const id = await addRequest(pool, { kind: 'hold', target: { topics: ['claims'] } }, 'alice', 'a wrong text')
  const holds = await readHolds(pool)
  t.match(holds, [{ id, topics: ['claims'], by: 'alice', because: 'a wrong text', since: /^20.*Z$/ }])
  t.ok(findHold(holds, 'claims'))
  t.notOk(findHold(holds, 'billing') ?? findHold(holds, null))
  t.strictSame(await resumeHolds(pool, [id], 'bob', 'the text is corrected'), [id])
  t.strictSame(await resumeHolds(pool, [id], 'bob', ''), [])
  t.strictSame(await readHolds(pool), [])
  const { rows } = await client.query('SELECT state, note FROM notifications.request')
  t.strictSame(rows, [{ state: 'done', note: 'resumed by bob: the text is corrected' }])
})

t.test('a request of an unknown kind, or a hold in an unknown form, holds all topics', async (t) => {
  for (const [kind, target] of [
    ['hold-types', { types: ['claim.paid'] }],
    ['hold', { topics: ['claims'], types: ['claim.paid'] }],
    ['hold', { topics: [] }],
    ['hold', { topics: 'claims' }],
  ] as const) {
    await store(kind, target)
    t.match(await readHolds(pool), [{ topics: null }], `${kind} ${JSON.stringify(target)}`)
    await client.query('TRUNCATE notifications.request')
  }
  for (const kind of ['retry', 'redrive', 'dismiss', 'skip']) await store(kind, {})
  t.strictSame(await readHolds(pool), [])
})
