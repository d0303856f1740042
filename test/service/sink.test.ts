import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import t from 'tap'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { rowsOf } from './rows.ts'

t.test('a listener in place of the mail server sees no connection', async (t) => {
  let connectionCount = 0
  const mailServer = createServer((socket) => {
    connectionCount++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(mailServer, 'listening')
  const { port } = mailServer.address() as AddressInfo
  t.teardown(() => mailServer.close())
  const world = await aWorld(t)
  await world.sql(`
    INSERT INTO notifications.notification_preferences (party_locator, preferred_channel) VALUES ('party-sms', 'SMS')`)
  const service = await world.serve({ SMTP_HOST: '127.0.0.1', SMTP_PORT: String(port) })

  const parties = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? `party-${i}` : 'party-sms'))
  await world.publish(parties.map((partyLocator) => anEvent({ partyLocator })))
  await world.caughtUp()
  const channels = Map.groupBy(
    await rowsOf(world, 'notification_log'),
    ({ status, channel }) => `${status} ${channel}`,
  )
  t.strictSame([...channels].map(([channel, rows]) => [channel, rows.length]).toSorted(), [
    ['SENT EMAIL', 50],
    ['SENT SMS', 50],
  ])
  t.match(
    service.lines.find(({ msg }) => msg.startsWith('email is recorded only')),
    { mailServer: `127.0.0.1:${port}` },
  )
  t.equal(await service.stop(), 0)
  t.equal(connectionCount, 0)

  connect(port, '127.0.0.1').on('error', () => {})
  await until(() => connectionCount === 1, { what: 'the listener to notice a connection' })
})

t.test('no file of the service makes a Kafka producer', async (t) => {
  const src = new URL('../../src/', import.meta.url)
  const files = (await readdir(src, { recursive: true })).filter((name) => name.endsWith('.ts'))
  t.ok(files.includes('kafka/consumer.ts'))
  for (const name of files) t.notMatch(await readFile(new URL(name, src), 'utf8'), /\bproducer\s*\(/, name)
})
