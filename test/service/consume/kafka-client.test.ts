import { mock } from 'node:test'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import t from 'tap'
import { untilAnswered } from '../../../src/service/consume/brokers.ts'
import { patchRequestQueue } from '../../../src/service/consume/kafka-client.ts'
import { CorrectableError } from '../../../src/service/text/faults.ts'

patchRequestQueue()

/** The request queue as kafkajs's own connection creates it. */
const Queue = RequestQueue as unknown as new (
  options: object,
) => RequestQueue & {
  throttleCheckTimeoutId: unknown
  push(request: object): void
  maybeThrottle(durationMs: number): void
  fulfillRequest(response: { correlationId: number; payload: object; size: number }): void
  destroy(): void
}

function open() {
  const debug = () => {}
  return new Queue({
    maxInFlightRequests: null,
    requestTimeout: 30_000,
    enforceRequestTimeout: false,
    clientId: 'test',
    broker: 'localhost:9092',
    logger: { namespace: () => ({ debug, warn: debug }), debug, warn: debug },
    isConnected: () => true,
  })
}

t.test('an idle connection runs no timer', async (t) => {
  const queue = open()
  t.teardown(() => queue.destroy())
  queue.fulfillRequest({ correlationId: 1, payload: {}, size: 0 })
  t.equal(queue.throttleCheckTimeoutId, null)
})

t.test('a throttled request is sent when the throttle time is over', async (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const queue = open()
  t.teardown(() => queue.destroy())
  let sent = false
  queue.maybeThrottle(30)
  queue.push({
    entry: { correlationId: 1 },
    expectResponse: true,
    sendRequest: () => {
      sent = true
    },
  })
  mock.timers.tick(29)
  t.equal(sent, false)
  mock.timers.tick(1)
  t.equal(sent, true)
  t.equal(queue.throttleCheckTimeoutId, null, 'and nothing is looked for any more')
})

t.test('a fetch that a quota left without an answer is asked again', async (t) => {
  const answer = (bytes: string) => ({
    topic: 'claims',
    partition: 0,
    error: null,
    bytes: Buffer.from(bytes),
    aborted: [],
  })
  const answers = [undefined, undefined, answer('bytes'), answer('more')]
  t.match(await untilAnswered(async () => answers.shift()), { bytes: Buffer.from('bytes') })
  await t.rejects(
    untilAnswered(async () => undefined),
    { constructor: CorrectableError, message: /^a quota of the broker limits this client: / },
  )
})
