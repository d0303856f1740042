import { createServer, type Socket } from 'node:net'
import { pino } from 'pino'
import t from 'tap'
import { createBrokers } from '../../../src/service/consume/brokers.ts'
import { listen } from '../../stack/listen.ts'

t.test('a request that hangs fails, and the next one does not wait for its connection', async (t) => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => sockets.push(socket))
  const address = `127.0.0.1:${await listen(silent)}`
  const log = pino({ level: 'silent' })
  const brokers = createBrokers({ brokers: [address], ssl: null, sasl: null }, 'test', log, 300)
  t.teardown(async () => {
    silent.close()
    for (const socket of sockets) socket.destroy()
    await brokers.close()
  })
  const [first, sharing] = [brokers.describe(), brokers.describe()]
  const hung = { message: 'no response from the brokers within 0.3 s' }
  await Promise.all([t.rejects(first, hung), t.rejects(sharing, hung)])
  t.equal(sockets.length, 1)
  await t.rejects(brokers.describe(), hung)
  t.equal(sockets.length, 2)
})

t.test('a broker that does not answer does not keep another one from being asked', async (t) => {
  const silent = createServer()
  const address = `127.0.0.1:${await listen(silent)}`
  const real = process.env.MQ_BROKERS ?? ''
  const log = pino({ level: 'silent' })
  const brokers = createBrokers({ brokers: [address, real], ssl: null, sasl: null }, 'test', log, 60_000)
  t.teardown(async () => {
    silent.close()
    await brokers.close()
  })
  t.match(await brokers.describe(), { brokerCount: 1 })
})
