import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { createApp } from '../../src/app/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/telemetry/log.ts'

t.test('a second stop waits for the first', async (t) => {
  const config = loadConfig({
    DATABASE_URL: 'postgres://127.0.0.1:1/x',
    MQ_BROKERS: '127.0.0.1:1',
    POLICY_ADMIN_URL: 'http://127.0.0.1:1',
    HOST: '127.0.0.1',
    PORT: '0',
  })
  const app = await createApp(config, createLog('silent'))
  const url = new URL(await app.start())
  // A request under way, which a stop lets finish.
  const socket = connect(Number(url.port), url.hostname)
  socket.write('PUT /preferences HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n')
  await once(socket, 'connect')
  await fetch(new URL('/healthz', url))
  const ended: string[] = []
  const first = app.stop().then(() => ended.push('first'))
  const second = app.stop().then(() => ended.push('second'))
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(ended, [])
  socket.destroy()
  await Promise.all([first, second])
  t.strictSame(ended, ['first', 'second'])
})
