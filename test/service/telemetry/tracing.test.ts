import t, { type Test } from 'tap'
import type { Batch } from '../../../src/service/decide/attempt/batch.ts'
import type { Message } from '../../../src/service/decide/event/message.ts'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import { createTracing, type Tracing, type TracingOptions } from '../../../src/service/telemetry/tracing.ts'
import { until } from '../../stack/until.ts'
import { aFound, aMessage, committedAt } from '../build.ts'
import { startCollector } from './collector.ts'

const TRACE = (n: number) => n.toString(16).padStart(32, 'a')
const SPAN = (n: number) => n.toString(16).padStart(16, 'b')
const COMMITTED = committedAt(0n)

function aBatch(headers: readonly string[]): Batch {
  const messages = headers.map((header, i): Message => {
    const value = header === '' ? {} : { headers: { traceparent: [Buffer.from(header)] } }
    return { ...aMessage(BigInt(i)), ...value }
  })
  return {
    topic: 'claims',
    partition: 3,
    expectedCheckpoint: -1n,
    lastOffset: 9n,
    lastMessage: null,
    messages,
  }
}

async function setUp(t: Test, options: Partial<TracingOptions> = {}) {
  const collector = await startCollector()
  t.teardown(collector.stop)
  const lines: string[] = []
  const log = createLog('trace', { write: (line) => void lines.push(line) })
  const tracing = createTracing(
    {
      endpoint: collector.url,
      sampler: 'parentbased_always_on',
      samplerRatio: 1,
      batchMax: 5_000,
      version: '1.2.3',
      ...options,
    },
    log,
  )
  return { collector, tracing, lines, log }
}

/** Stops, and waits for what the stop has sent: it waits for the answers 2 s at most, which is short on a busy machine. */
async function stopped(
  tracing: Pick<Tracing, 'stop'>,
  { spans }: Awaited<ReturnType<typeof startCollector>>,
  count: number,
): Promise<void> {
  await tracing.stop()
  await until(() => spans.length >= count, { what: `${count} spans` })
}

t.test('a batch is one span with its steps as child spans', async (t) => {
  const { collector, tracing } = await setUp(t)
  const contacts = new Map<string, Contact>([
    ['a', aFound({ email: 'member@example.com' })],
    ['b', { state: 'not found' }],
    ['c', { state: 'unresolved', error: 'HTTP 500', costsNoAttempt: false }],
  ])
  await tracing.stage('batch', aBatch(['']), async () => {
    t.equal(await tracing.stage('contacts', ['a', 'b', 'c'], async () => contacts), contacts)
    return tracing.stage('commit', aBatch(['']), async () => COMMITTED)
  })
  await stopped(tracing, collector, 3)
  t.strictSame([...collector.paths], ['POST /v1/traces application/json'])
  const [root] = collector.spans.filter(({ parentSpanId }) => !parentSpanId)
  t.match(root, {
    name: 'process claims',
    kind: 5,
    links: [],
    attributes: {
      'messaging.destination.name': 'claims',
      'messaging.destination.partition.id': '3',
      'messaging.kafka.offset': '0',
      'messaging.batch.message_count': 1,
      'notifications.result': 'committed',
    },
    resource: { 'service.name': 'notifications-service', 'service.version': '1.2.3' },
  })
  const below = collector.spans.filter((span) => span !== root)
  t.match(below, [
    {
      name: 'look up contacts',
      attributes: {
        'notifications.parties': 3,
        'notifications.parties.found': 1,
        'notifications.parties.not_found': 1,
        'notifications.parties.unresolved': 1,
      },
    },
    { name: 'commit' },
  ])
  for (const span of below) {
    t.equal(span.parentSpanId, root?.spanId)
    t.equal(span.traceId, root?.traceId)
  }
  t.notMatch(JSON.stringify(collector.spans), /example\.com|HTTP 500/)
})

t.test('each trace context of a producer is linked once; invalid ones are ignored', async (t) => {
  const { collector, tracing } = await setUp(t)
  const good = Array.from({ length: 1_000 }, (_, i) => `00-${TRACE(i)}-${SPAN(i)}-0${i % 2}`)
  const bad = [
    '',
    'garbage',
    `ff-${TRACE(5_000)}-${SPAN(5_000)}-01`,
    `00-${'0'.repeat(32)}-${SPAN(5_000)}-01`,
    `00-${TRACE(5_000)}-${'0'.repeat(16)}-01`,
    `00-${TRACE(5_000)}-${SPAN(5_000)}`,
  ]
  await tracing.stage('batch', aBatch([...good, ...bad, ...good.slice(0, 10)]), async () => COMMITTED)
  await stopped(tracing, collector, 1)
  const [{ links = [], droppedLinksCount } = {}] = collector.spans
  t.notOk(droppedLinksCount)
  t.strictSame(
    links.map(({ traceId, spanId }) => `${traceId} ${spanId}`),
    good.map((_, i) => `${TRACE(i)} ${SPAN(i)}`),
  )
})

t.test('the sampler decides what is traced; messages of unsampled batches are not examined', async (t) => {
  for (const [sampler, samplerRatio, expected] of [
    ['always_off', 1, 0],
    ['parentbased_always_off', 1, 0],
    ['traceidratio', 0, 0],
    ['parentbased_traceidratio', 1, 100],
    ['always_on', 0, 100],
  ] as const) {
    const { collector, tracing } = await setUp(t, { sampler, samplerRatio })
    const batch = aBatch([''])
    let looked = 0
    const watched = {
      ...batch,
      get messages() {
        looked++
        return batch.messages
      },
    }
    for (let i = 0; i < 50; i++) {
      await tracing.stage('batch', watched, () => tracing.stage('commit', batch, async () => COMMITTED))
    }
    await stopped(tracing, collector, expected)
    t.equal(collector.spans.length, expected, `${sampler} ${samplerRatio}`)
    t.equal(looked > 0, expected > 0)
  }
})

t.test('a collector that hangs delays no batch, and its queue is bounded', async (t) => {
  const { collector, tracing } = await setUp(t)
  collector.hang()
  for (let i = 0; i < 6_000; i++) await tracing.stage('batch', aBatch(['']), async () => COMMITTED)
  collector.answer()
  await until(() => collector.spans.length > 0, { what: 'the first spans' })
  await stopped(tracing, collector, 1_024)
  t.ok(collector.spans.length <= 1_024 + 128, String(collector.spans.length))
})

t.test('a stop waits 2 s for a collector that hangs, and not for one that is gone', async (t) => {
  const { collector, tracing } = await setUp(t)
  collector.hang()
  await tracing.stage('batch', aBatch(['']), async () => COMMITTED)
  const startedMs = performance.now()
  await tracing.stop()
  t.ok(performance.now() - startedMs < 10_000)
  const gone = await setUp(t, { endpoint: 'http://127.0.0.1:1' })
  await gone.tracing.stage('batch', aBatch(['']), async () => COMMITTED)
  await until(() => gone.lines.some((line) => /traces cannot be sent to the collector/.test(line)), {
    what: 'the log to say so',
  })
  await gone.tracing.stop()
})
