import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import t, { type Test } from 'tap'
import { patchGathering } from '../../../src/kafka/patches/gather.ts'

/** A broker that answers each fetch with the next of these record bytes. */
function groupOf(t: Test, sizes: readonly number[]) {
  const answers = [...sizes]
  const { fetch } = ConsumerGroup.prototype
  ConsumerGroup.prototype.fetch = async () => {
    const size = answers.shift() ?? 0
    const fetched = { error: null, bytes: Buffer.alloc(size), aborted: [] }
    return size === 0 ? [] : [{ messages: [{ fetched }] } as never]
  }
  patchGathering()
  const group = Object.create(ConsumerGroup.prototype) as ConsumerGroup
  t.teardown(() => {
    ConsumerGroup.prototype.fetch = fetch
  })
  return {
    /** The bytes that a fetch passes on, and how long it took. */
    fetch: async (nodeId = '1') => {
      const startMs = performance.now()
      const [batch] = await group.fetch(nodeId)
      const [message] = (batch?.messages ?? []) as unknown as { fetched: { bytes: Buffer } }[]
      const isAtOnce = performance.now() - startMs < 20
      return { bytes: message?.fetched.bytes.length ?? 0, isAtOnce }
    },
  }
}

t.test('an event that comes alone is passed on at once', async (t) => {
  const { fetch } = groupOf(t, [100, 0])
  t.same(await fetch(), { bytes: 100, isAtOnce: true })
  t.same(await fetch(), { bytes: 0, isAtOnce: true })
})

t.test('an event soon after another one waits for those that follow it', async (t) => {
  const { fetch } = groupOf(t, [100, 100, 300])
  await fetch()
  t.same(await fetch(), { bytes: 300, isAtOnce: false })
})

t.test('a backlog is passed on at once', async (t) => {
  const { fetch } = groupOf(t, [100, 20_000, 20_000])
  await fetch()
  t.same(await fetch(), { bytes: 20_000, isAtOnce: true })
  t.same(await fetch(), { bytes: 20_000, isAtOnce: true })
})

t.test('brokers do not wait for each other', async (t) => {
  const { fetch } = groupOf(t, [100, 200])
  await fetch('1')
  t.same(await fetch('2'), { bytes: 200, isAtOnce: true })
})
