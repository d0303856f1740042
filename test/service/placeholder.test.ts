import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import t from 'tap'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

t.test('the placeholder for email records a message and never contacts the mail server', async (t) => {
  const world = await aWorld(t, { partitionCount: 1 })
  let connectionCount = 0
  const mailServer = createServer((socket) => {
    connectionCount++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(mailServer, 'listening')
  t.teardown(() => mailServer.close())
  const { port } = mailServer.address() as AddressInfo
  const service = await world.serve({ SMTP_HOST: '127.0.0.1', SMTP_PORT: String(port) })
  t.match(await service.logged(/^email is recorded only/), { mailServer: `127.0.0.1:${port}` })
  const event = anEvent()
  await world.publish([event])
  await world.caughtUp()
  t.match(onlyRowOf(await rowsOf(world, 'notification_log'), event), { status: 'SENT', channel: 'EMAIL' })
  t.equal(connectionCount, 0)
  connect(port, '127.0.0.1').on('error', () => {})
  await until(() => connectionCount === 1, { what: 'the listener to notice a connection' })
})
