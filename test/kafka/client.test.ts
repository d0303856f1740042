import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import t from 'tap'
import { CorrectableError } from '../../src/core/text/faults.ts'
import { untilAnswered } from '../../src/kafka/brokers.ts'
import { createClient, patchGroupOffsets, patchRequestQueue } from '../../src/kafka/client.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { until } from '../stack/until.ts'

patchGroupOffsets()
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

t.test('a refusal during a rebalance is no warning, another one is', async (t) => {
  const lines: { level: string; msg: string }[] = []
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) })
  const logger = createClient({ brokers: ['127.0.0.1:1'], ssl: null, sasl: null }, 'test', log).logger()
  logger.error('Response Heartbeat', { error: 'The group is rebalancing, so a rejoin is needed' })
  logger.error('Response Fetch', { error: 'The replica is not available' })
  t.match(lines, [
    { level: 'debug', msg: /Heartbeat/ },
    { level: 'warn', msg: /Fetch/ },
  ])
})

t.test('an idle connection runs no timer', async (t) => {
  const queue = open()
  t.teardown(() => queue.destroy())
  queue.fulfillRequest({ correlationId: 1, payload: {}, size: 0 })
  t.equal(queue.throttleCheckTimeoutId, null)
})

t.test('a throttled request is sent when the throttle time is over', async (t) => {
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
  t.equal(sent, false)
  await until(async () => sent, { what: 'the request to be sent' })
  t.equal(queue.throttleCheckTimeoutId, null, 'and nothing is looked for any more')
})

t.test('the offsets of the group are not requested from Kafka, and known ones are kept', async (t) => {
  const offsets: Record<string, Record<number, string>> = { claims: { 1: '17' } }
  await OffsetManager.prototype.resolveOffsets.call({
    memberAssignment: { claims: [0, 1], billing: [2] },
    committedOffsets: () => offsets,
    resolveOffsets: async () => {},
  })
  t.strictSame(offsets, { claims: { 0: '0', 1: '17' }, billing: { 2: '0' } })
})

t.test('a fetch that a quota left without an answer is asked again', async (t) => {
  const answers = [undefined, undefined, 'bytes', 'more']
  t.equal(await untilAnswered(async () => answers.shift()), 'bytes')
  await t.rejects(
    untilAnswered(async () => undefined),
    { constructor: CorrectableError, message: /^a quota of the broker limits this client: / },
  )
})
