import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { startDatabaseProxy } from './database-proxy.ts'
import { createDatabase } from './databases.ts'

const database = await createDatabase()
t.teardown(() => database.drop())
const direct = new pg.Pool({ connectionString: database.url })
t.teardown(() => direct.end())
await direct.query('CREATE TABLE mark (name text)')

/** A client by way of a proxy of its own, in the middle of a transaction that leaves a mark. */
async function inTransaction(t: Test) {
  const proxy = await startDatabaseProxy(database.url)
  t.teardown(() => proxy.close())
  const client = new pg.Client({ connectionString: proxy.url })
  client.on('error', () => {})
  t.teardown(() => client.end().catch(() => {}))
  await client.connect()
  await client.query('START TRANSACTION')
  await client.query('INSERT INTO mark VALUES ($1)', [t.name])
  return { proxy, client }
}

async function isMarked(t: Test): Promise<boolean> {
  const { rows } = await direct.query('SELECT FROM mark WHERE name = $1', [t.name])
  return rows.length === 1
}

t.test('what nothing is done to goes through', async (t) => {
  const { client } = await inTransaction(t)
  await client.query('COMMIT')
  t.ok(await isMarked(t))
})

t.test('a COMMIT that is held has not come to the server, and is made once it goes on', async (t) => {
  const { proxy, client } = await inTransaction(t)
  const holding = proxy.hold('COMMIT', AbortSignal.timeout(10_000))
  const committing = client.query('COMMIT')
  const held = await holding
  t.notOk(await isMarked(t))
  held.forward()
  await committing
  t.ok(await isMarked(t))
})

t.test('a COMMIT whose reply is lost was made, and its client cannot know', async (t) => {
  const { proxy, client } = await inTransaction(t)
  const losing = proxy.loseReply(AbortSignal.timeout(10_000))
  await t.rejects(client.query('COMMIT'))
  await losing
  t.ok(await isMarked(t))
})

t.test('a cut breaks the connection and the transaction with it', async (t) => {
  const { proxy, client } = await inTransaction(t)
  const ended = new Promise((resolve) => client.once('end', resolve))
  t.equal(proxy.cut(), 1)
  await ended
  t.notOk(await isMarked(t))
})

t.test('while it is frozen nothing comes through, and nothing is lost', async (t) => {
  const { proxy, client } = await inTransaction(t)
  proxy.freeze()
  const committing = client.query('COMMIT')
  t.equal(await Promise.race([committing.then(() => 'done'), sleep(200, 'silence')]), 'silence')
  t.notOk(await isMarked(t))
  proxy.thaw()
  await committing
  t.ok(await isMarked(t))
})

t.test('no COMMIT is held any more once its signal is aborted', async (t) => {
  const { proxy, client } = await inTransaction(t)
  const giveUp = new AbortController()
  const holding = proxy.hold('COMMIT', giveUp.signal)
  giveUp.abort(new Error('given up'))
  await t.rejects(holding, { message: 'given up' })
  await client.query('COMMIT')
  t.ok(await isMarked(t))
})
