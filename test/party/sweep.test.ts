import { pino } from 'pino'
import t from 'tap'
import type { Dispatcher } from 'undici'
import { createAnswers } from '../../src/party/answers.ts'
import { Call } from '../../src/party/call.ts'
import { createCircuit } from '../../src/party/circuit.ts'
import { createConnections } from '../../src/party/connections.ts'
import type { Exchange } from '../../src/party/exchange.ts'
import { createHanging } from '../../src/party/hanging.ts'
import { createSweep } from '../../src/party/sweep.ts'
import { createTrips } from '../../src/party/trips.ts'

const DEADLINE_MS = 1_000

t.test('a request that ends while another is given up gives its connection back once', async (t) => {
  const log = pino({ level: 'silent' })
  let now = performance.now()
  const nowMs = () => now
  const sent: Exchange[] = []
  const options = { origin: 'http://127.0.0.1:1', connectionCountMax: 4, sharedCountMax: 8 }
  const connections = {
    ...createConnections({ ...options, connectTimeoutMs: DEADLINE_MS }),
    send: (exchange: Exchange) => void sent.push(exchange),
  }
  t.teardown(connections.close)
  const trips = createTrips({
    connections,
    connectionCountMax: 4,
    nowMs,
    onEnd: (trip, exchange) => trips.leave(trip, exchange),
  })
  const call = new Call(new Set(['PTY-1', 'PTY-2']), now + DEADLINE_MS)
  for (const locator of ['PTY-1', 'PTY-2'])
    trips.start(call, 'single', [{ locator, path: `/${locator}`, isAlone: false }])
  const [first, second] = sent as [Exchange, Exchange]
  const abort = () => second.onResponseError(null as never, new Error('its session ended'))
  first.onRequestStart({ abort } as unknown as Dispatcher.DispatchController)
  const sweep = createSweep({
    calls: new Set([call]),
    trips,
    connections,
    answers: createAnswers(() => null, nowMs),
    hanging: createHanging(nowMs),
    circuit: createCircuit({
      probe: () => Promise.reject(new Error('no probe')),
      onVerdict: () => {},
      nowMs,
      log,
    }),
    deadlineMs: DEADLINE_MS,
    nowMs,
  })
  now += 2 * DEADLINE_MS
  sweep()
  t.equal(trips.idleCount(), 4)
  t.equal(call.tripCount, 0)
})
