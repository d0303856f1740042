import { getEventListeners } from 'node:events'
import type { Kafka } from 'kafkajs'
import { pino } from 'pino'
import t from 'tap'
import { createMembership } from '../../src/kafka/membership.ts'
import type { PartitionNeeds } from '../../src/kafka/partition.ts'

t.test('a failed membership keeps nothing waiting for the stop of the process', async (t) => {
  const refused = new Error('the broker refuses')
  const consumer = {
    events: {},
    on: () => {},
    connect: () => Promise.reject(refused),
    disconnect: async () => {},
  }
  const stopping = new AbortController()
  const needs = { log: pino({ level: 'silent' }), latest: new Map(), sleep: async () => {} }
  const membership = createMembership({
    kafka: { consumer: () => consumer } as unknown as Kafka,
    groupId: 'group',
    sessionTimeoutMs: 6_000,
    topics: ['claims'],
    stopping: stopping.signal,
    partitionNeeds: needs as unknown as PartitionNeeds,
    onJoin: () => {},
    onBatch: () => {},
    appeared: () => new Promise(() => {}),
  })
  await t.rejects(membership.run(), refused)
  t.strictSame(getEventListeners(stopping.signal, 'abort'), [])
})
