import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import t, { type Test } from 'tap'
import { patchGathering } from '../../../src/kafka/patches/gather.ts'

/** A membership whose fetches bring these record bytes in turn, and a clock that the test advances. */
function gathering(t: Test, sizes: readonly number[]) {
  const clock = { ms: 1_000 }
  t.intercept(performance, 'now', { value: () => clock.ms })
  const original = ConsumerGroup.prototype.fetch
  let askedCount = 0
  ConsumerGroup.prototype.fetch = async () => {
    const size = sizes[askedCount++] ?? 0
    const fetched = { error: null, bytes: Buffer.alloc(size), aborted: [] }
    return size === 0 ? [] : [{ messages: [{ fetched }] } as never]
  }
  patchGathering()
  t.teardown(() => {
    ConsumerGroup.prototype.fetch = original
  })
  const group = Object.create(ConsumerGroup.prototype) as ConsumerGroup
  return {
    clock,
    /** The bytes that a fetch passes on, and how often the broker was asked for them. */
    fetchOnce: async (nodeId = '1') => {
      const before = askedCount
      const [batch] = await group.fetch(nodeId)
      const [message] = (batch?.messages ?? []) as unknown as { fetched: { bytes: Buffer } }[]
      return { bytes: message?.fetched.bytes.length ?? 0, asked: askedCount - before }
    },
  }
}

t.test('an event that comes alone is passed on at once', async (t) => {
  const { fetchOnce, clock } = gathering(t, [100, 0, 200])
  t.same(await fetchOnce(), { bytes: 100, asked: 1 })
  t.same(await fetchOnce(), { bytes: 0, asked: 1 })
  clock.ms += 25
  t.same(await fetchOnce(), { bytes: 200, asked: 1 })
})

t.test('an event soon after another one waits for those that follow it', async (t) => {
  const { fetchOnce, clock } = gathering(t, [100, 100, 300, 100, 200])
  await fetchOnce()
  clock.ms += 24
  t.same(await fetchOnce(), { bytes: 300, asked: 2 })
  clock.ms += 24
  t.same(await fetchOnce(), { bytes: 200, asked: 2 }, 'the time since the repeated fetch counts')
})

t.test('a backlog is passed on at once', async (t) => {
  const { fetchOnce } = gathering(t, [100, 16_384, 16_384, 16_383, 16_383, 20_000])
  await fetchOnce()
  t.same(await fetchOnce(), { bytes: 16_384, asked: 1 })
  t.same(await fetchOnce(), { bytes: 16_384, asked: 1 })
  t.same(await fetchOnce(), { bytes: 16_383, asked: 2 })
})

t.test('brokers do not wait for each other', async (t) => {
  const { fetchOnce } = gathering(t, [100, 200])
  await fetchOnce('1')
  t.same(await fetchOnce('2'), { bytes: 200, asked: 1 })
})
