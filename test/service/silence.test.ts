import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { anEvent, aWorld } from '../stack/world.ts'

const world = await aWorld(t, { partitionCount: 1 })

/** A way to the database whose connections can go dead: open, and nothing comes through any more. */
async function pathToDatabase() {
  const { hostname, port } = new URL(world.databaseUrl)
  const sockets = new Set<Socket>()
  const dead = new Set<Socket>()
  const server = createServer((client) => {
    const database = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => !dead.has(from) && to.write(bytes))
      from.on('error', () => {})
      from.on('close', () => !dead.has(from) && to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  const url = new URL(world.databaseUrl)
  url.host = `127.0.0.1:${address.port}`
  return {
    url: url.href,
    /** Kills all connections that are open now; new ones work. */
    goDead: () => {
      for (const socket of sockets) dead.add(socket)
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

t.test('connections to the database that go dead without a word are given up', async (t) => {
  const path = await pathToDatabase()
  t.teardown(path.close)
  const service = await world.serve({ DATABASE_URL: path.url })
  await world.publish([{ ...anEvent() }])
  await world.caughtUp()
  path.goDead()
  await world.publish([{ ...anEvent() }])
  await world.caughtUp()
  const attempts = service.lines.filter(({ msg }) => msg.startsWith('a partition is blocked'))
  t.ok(attempts.length <= 1, `${attempts.length} attempts failed: those that were idle meanwhile were closed`)
  t.equal(await service.stop(), 0)
})
