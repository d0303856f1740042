import t from 'tap'
import type { Batch } from '../../src/core/batch/batch.ts'
import { fingerprintOf } from '../../src/kafka/records/record.ts'
import { type Given, onePartition, settled } from './one-partition.ts'
import { writeMarker } from './records/write-batch.ts'

const fingerprint = (offset: number, value: string) =>
  fingerprintOf({
    offset: BigInt(offset),
    timestampMs: 0n,
    key: null,
    value: Buffer.from(value),
    headers: {},
  })

const movesOf = (batches: readonly Batch[]) =>
  batches.map(({ messages, heldOffset, nextOffset }) => [messages.length, heldOffset, nextOffset])

/** Started, with ten messages in two batches. */
async function withTen(given: Given = {}) {
  const partition = onePartition(given)
  partition.publish(['a', 'b', 'c', 'd'], ['e', 'f', 'g', 'h', 'i', 'j'])
  await partition.start()
  return partition
}

t.test('kafkajs fetches nothing until the checkpoint says from where', async (t) => {
  const loaded = Promise.withResolvers<void>()
  const { kafkajs, fetch, values } = await withTen({
    checkpoint: { offset: 5n, lastMessage: null },
    loadCheckpoint: () => loaded.promise,
  })
  t.equal(kafkajs.isPaused, true)
  loaded.resolve()
  await settled()
  t.strictSame([kafkajs.isPaused, kafkajs.seeks], [false, [6n]])
  await fetch()
  t.strictSame(values(), ['g', 'h', 'i', 'j'])
})

t.test('what is fetched is cut into batches, each told to Kafka as its offset + 1', async (t) => {
  const { fetch, committed, reports, kafkajs } = await withTen({ batchCountMax: 4 })
  await fetch()
  t.strictSame(movesOf(committed), [
    [4, -1n, 3n],
    [4, 3n, 7n],
    [2, 7n, 9n],
  ])
  t.strictSame(reports, [4n, 8n, 10n])
  t.equal(kafkajs.next, 10n)
})

t.test('a batch that was cut goes on behind what was committed of it', async (t) => {
  const { fetch, committed, reports, database } = await withTen({ batchCountMax: 5, askedCount: 2 })
  await fetch()
  t.strictSame(movesOf(committed), [
    [5, -1n, 4n],
    [3, 1n, 4n],
    [1, 3n, 4n],
    [5, 4n, 9n],
    [3, 6n, 9n],
    [1, 8n, 9n],
  ])
  t.strictSame(reports, [2n, 4n, 5n, 7n, 9n, 10n])
  t.strictSame(database.checkpoint, { offset: 9n, lastMessage: fingerprint(9, 'j') })
})

t.test(
  'the age of the oldest message is known while the rest of a batch that was cut is under way',
  async (t) => {
    const ages: unknown[] = []
    const partition = onePartition({
      askedCount: 1,
      beforeCommit: async () => void ages.push(partition.oldestMs()),
    })
    partition.append({
      baseTimestampMs: 100,
      records: ['a', 'b', 'c'].map((value, i) => ({ value, timestampDelta: i })),
    })
    await partition.start()
    await partition.fetch()
    t.strictSame(ages, [100, 101, 102])
  },
)

t.test('a batch takes what waits of several fetches', async (t) => {
  const turn = Promise.withResolvers<void>()
  const { fetch, committed } = await withTen({
    takeSlot: async () => {
      await turn.promise
      return () => {}
    },
  })
  await fetch(1)
  await fetch(1)
  turn.resolve()
  await settled()
  t.strictSame(movesOf(committed), [[10, -1n, 9n]])
})

t.test('a batch waits for the one before, and takes what has come by then', async (t) => {
  const commit = Promise.withResolvers<void>()
  const { fetch, prepared, committed } = await withTen({
    batchCountMax: 10,
    beforeCommit: ({ heldOffset }) => (heldOffset < 0n ? commit.promise : Promise.resolve()),
  })
  await fetch(1)
  await fetch(1)
  await fetch()
  t.equal(prepared.length, 1)
  commit.resolve()
  await settled()
  t.strictSame(movesOf(committed), [
    [4, -1n, 3n],
    [6, 3n, 9n],
  ])
})

t.test('after a batch that fails, everything is fetched again from the checkpoint', async (t) => {
  let failures = 1
  const { fetch, committed, prepared, values, sleeps, lines, held } = await withTen({
    batchCountMax: 5,
    beforeCommit: async () => {
      await new Promise((resolve) => setImmediate(resolve))
      if (failures-- > 0) throw new Error('connection terminated')
    },
  })
  await fetch()
  t.strictSame(movesOf(prepared), [[5, -1n, 4n]])
  t.strictSame(committed, [])
  t.match(held(), { reason: 'not-committed', offset: 0n, detail: 'connection terminated' })
  t.match(lines, [{ msg: /^a partition is held; nothing is lost/, offset: '0', reason: 'not-committed' }])
  await fetch()
  t.equal(values().join(''), 'abcdefghij')
  t.strictSame([sleeps, held()], [[500], null])
})

t.test('back-off grows until something is committed', async (t) => {
  let failures = 3
  const { fetch, sleeps, values } = await withTen({
    batchCountMax: 5,
    beforeCommit: async ({ heldOffset }) => {
      if (failures-- > 0) throw new TypeError('even a bug of ours must not end the consumer')
      if (heldOffset === 4n && failures === -2) throw new Error('again')
    },
  })
  for (let i = 0; i < 5; i++) await fetch()
  t.strictSame(sleeps, [500, 1_000, 2_000, 500])
  t.equal(values().join(''), 'abcdefghij')
})

t.test('a checkpoint that cannot be read is waited for', async (t) => {
  let failures = 2
  const { sleeps, fetch, values, held } = await withTen({
    loadCheckpoint: async () => {
      if (failures-- > 0) throw new Error('locked by another session')
    },
  })
  t.match(held(), { reason: 'locked' })
  await settled()
  t.strictSame(sleeps, [500, 1_000])
  await fetch()
  t.equal(values().length, 10)
  t.equal(held(), null)
})

t.test('a held partition keeps no queue, and goes on from where its checkpoint is then', async (t) => {
  let isDown = true
  const { fetch, database, kafkajs, budget, values, ask } = await withTen({
    budgetBytes: 1,
    beforeCommit: async () => {
      if (isDown) throw new Error('locked')
    },
  })
  const sleeping = fetch()
  await sleeping
  t.equal(budget.isFull(1), false)
  isDown = false
  database.checkpoint = { offset: 7n, lastMessage: null }
  await fetch()
  await fetch()
  t.strictSame(values(), ['i', 'j'])
  t.equal(kafkajs.next, 10n)
  t.equal(ask(), null)
})

t.test('a checkpoint that another consumer moved is gone on from, at once', async (t) => {
  let isMoved = false
  const { fetch, database, values, sleeps, lines } = await withTen({
    beforeCommit: async () => {
      if (!isMoved) database.checkpoint = { offset: 6n, lastMessage: null }
      isMoved = true
    },
  })
  await fetch()
  await fetch()
  t.strictSame([values(), sleeps], [['h', 'i', 'j'], []])
  t.match(lines, [{ msg: 'another consumer moved the checkpoint: continuing from there' }])
})

t.test(
  'a database that has lost commits is gone on from where it is, and said to have lost them',
  async (t) => {
    let isRewound = false
    const { fetch, database, values, lines } = await withTen({
      batchCountMax: 5,
      beforeCommit: async ({ heldOffset }) => {
        if (heldOffset !== 4n || isRewound) return
        isRewound = true
        database.checkpoint = { offset: 2n, lastMessage: null }
      },
    })
    await fetch()
    await fetch()
    t.strictSame(values(), ['a', 'b', 'c', 'd', 'e', 'd', 'e', 'f', 'g', 'h', 'i', 'j'])
    t.match(lines, [
      { msg: /^the checkpoint is behind what this process committed: the database has lost commits/ },
    ])
  },
)

t.test('a fetch that does not begin where the one before ended is fetched again', async (t) => {
  const { ask, hand, kafkajs, fetch, values, start, database } = await withTen()
  const late = ask()
  database.checkpoint = { offset: 3n, lastMessage: null }
  await start()
  hand(late)
  await settled()
  t.strictSame(values(), [])
  t.equal(kafkajs.sought, 4n)
  await fetch()
  t.equal(values().join(''), 'efghij')
})

t.test('a partition whose queue is full is fetched again once half of it is worked off', async (t) => {
  const turn = { ready: Promise.withResolvers<void>() }
  const { append, clock, fetch, kafkajs, start, committed } = onePartition({
    takeSlot: async () => {
      await turn.ready.promise
      return () => {}
    },
  })
  for (let i = 0; i < 9; i++) append({ records: [{ value: Buffer.alloc(1024 * 1024) }] })
  await start()
  let fetchCount = 0
  while (await fetch(1)) fetchCount++
  t.strictSame([fetchCount, kafkajs.isPaused], [4, true])
  clock.nowMs = 1_000
  turn.ready.resolve()
  await settled()
  t.equal(kafkajs.isPaused, false)
  while (await fetch(1)) fetchCount++
  t.strictSame([fetchCount, committed.at(-1)?.nextOffset], [9, 8n], 'after a pause, from where it was left')
})

t.test(
  'where the queues of all are full, a partition is fetched only while nothing of it waits',
  async (t) => {
    const { fetch, kafkajs, budget, values } = await withTen({ budgetBytes: 1_000 })
    budget.add(1_000)
    await fetch(1)
    t.strictSame(
      [values().length, kafkajs.isPaused],
      [4, false],
      'slow partitions leave the others their turn',
    )
    budget.add(3_000)
    await fetch(1)
    t.equal(values().length, 10, 'what is fetched is worked on')
    t.equal(kafkajs.isPaused, true, 'far too many bytes wait')
    budget.add(-1)
    t.equal(kafkajs.isPaused, false)
  },
)

t.test('a batch without an end is held, and is not fetched again and again', async (t) => {
  const partition = onePartition()
  partition.publish(['a', 'b'])
  await partition.start()
  const [batch] = partition.broker.log
  batch?.writeInt32BE(batch.length * 50, 8)
  await partition.fetch()
  t.match(partition.held(), { reason: 'damaged' })
  t.strictSame(partition.values(), [])
  await partition.end()
})

t.test('a batch that is cut again and again goes on, and is not stuck', async (t) => {
  const stuck: unknown[] = []
  const partition = onePartition({
    askedCount: 1,
    beforeCommit: async () => {
      partition.clock.nowMs += 50_000
      stuck.push(partition.held())
    },
  })
  partition.publish(['a', 'b', 'c'])
  await partition.start()
  await partition.fetch()
  t.strictSame(stuck, [null, null, null])
})

t.test('a batch ends before it holds too many bytes, but holds at least one message', async (t) => {
  const { append, start, fetch, committed } = onePartition()
  const megabytes = (count: number) => Buffer.alloc(count * 1024 * 1024)
  append({
    records: [
      { value: megabytes(3) },
      { value: megabytes(4) },
      { value: megabytes(9) },
      { key: megabytes(1) },
      {
        headers: [
          ['of one', megabytes(1)],
          ['of two', megabytes(2)],
          ['of two', megabytes(3)],
        ],
      },
      { headers: [['of one', megabytes(3)]] },
    ],
  })
  await start()
  await fetch()
  await settled()
  t.strictSame(
    committed.map(({ messages }) => messages.map(({ offset }) => Number(offset))),
    [[0, 1], [2], [3, 4], [5]],
  )
})

t.test('each batch carries the fingerprint of its last message', async (t) => {
  const { publish, start, fetch, committed } = onePartition({ batchCountMax: 2 })
  publish(['a', 'b', 'c'])
  await start()
  await fetch()
  t.strictSame(
    committed.map(({ lastMessage }) => lastMessage),
    [fingerprint(1, 'b'), fingerprint(2, 'c')],
  )
})

t.test('on starting, the last processed message is fetched once more, and compared', async (t) => {
  const checkpoint = { offset: 5n, lastMessage: fingerprint(3, 'd') }
  const { kafkajs, fetch, values, database, lines } = await withTen({ checkpoint })
  t.strictSame(kafkajs.seeks, [3n])
  await fetch()
  t.strictSame([values(), database.resets, lines], [['g', 'h', 'i', 'j'], [], []])
})

t.test('another message in its place is a topic that was created anew', async (t) => {
  const checkpoint = { offset: 3n, lastMessage: fingerprint(3, 'what was processed') }
  const { fetch, values, database, lines } = await withTen({ checkpoint })
  await fetch()
  t.strictSame(database.resets, [-1n])
  t.match(lines, [
    { msg: /^the message at offset 3 is not the one that was processed: the topic was recreated/ },
  ])
  await fetch()
  t.equal(values().join(''), 'abcdefghij')
})

t.test('a last message that is gone cannot be compared, and rewinds nothing', async (t) => {
  const checkpoint = { offset: 3n, lastMessage: fingerprint(2, 'c') }
  const { broker, fetch, values, database, start, append } = onePartition({ checkpoint })
  append({ baseOffset: 0, records: [{ value: 'a' }, { value: 'd', offsetDelta: 3 }], lastOffsetDelta: 3 })
  append({ records: [{ value: 'e' }] })
  await start()
  await fetch()
  t.strictSame([values(), database.resets, broker.log.length], [['e'], [], 2])
})

t.test('messages that retention removed before they were processed are counted', async (t) => {
  const checkpoint = { offset: 1n, lastMessage: fingerprint(1, 'b') }
  const { broker, fetch, values, start, lines, publish, sleeps } = onePartition({ checkpoint })
  publish(['a', 'b', 'c', 'd'], ['e'])
  broker.log.shift()
  broker.earliest = 4n
  await start()
  await fetch()
  await fetch()
  t.strictSame([values(), sleeps], [['e'], []])
  t.match(lines, [
    {
      msg: "2 messages are lost: the broker's retention deleted them before they were processed",
      expected: '2',
      earliest: '4',
      gone: '2',
    },
  ])
})

t.test('what was fetched before retention removed it is processed', async (t) => {
  const commit = Promise.withResolvers<void>()
  const { broker, fetch, values, lines } = await withTen({
    batchCountMax: 1,
    beforeCommit: () => commit.promise,
  })
  await fetch(1)
  broker.log.shift()
  broker.earliest = 7n
  await fetch()
  commit.resolve()
  await settled()
  await settled()
  t.equal(values().join(''), 'abcd')
  await fetch()
  t.equal(values().join(''), 'abcdhij')
  t.match(lines, [{ gone: '3' }])
})

t.test('a batch that is looked up commits, although the one behind it is damaged', async (t) => {
  const looked = Promise.withResolvers<void>()
  const { broker, fetch, values, held } = await withTen({ prepare: () => looked.promise })
  const damaged = broker.log[1] as Buffer
  damaged[damaged.length - 2] = 7
  await fetch()
  t.strictSame([values(), held()], [[], null])
  looked.resolve()
  await settled()
  t.equal(values().join(''), 'abcd')
  t.match(held(), { reason: 'damaged', offset: 4n })
})

t.test(
  'a checkpoint beyond the end starts a topic that was created anew from its earliest offset',
  async (t) => {
    const checkpoint = { offset: 99n, lastMessage: fingerprint(99, 'x') }
    const { fetch, values, database, lines } = await withTen({ checkpoint })
    await fetch()
    await fetch()
    t.strictSame(database.resets, [-1n])
    t.equal(values().join(''), 'abcdefghij')
    t.match(lines, [{ msg: /^the checkpoint lies beyond the end of the partition: the topic was recreated/ }])
  },
)

t.test('a fetch of which nothing is delivered moves the checkpoint, and keeps the fingerprint', async (t) => {
  const { broker, append, publish, start, fetch, committed } = onePartition()
  publish(['a'])
  await start()
  await fetch()
  append({ producerId: 1, isTransactional: true, records: [{ value: 'aborted' }] })
  broker.log.push(writeMarker(2, 1, 'abort'))
  broker.aborted.push({ producerId: 1n, firstOffset: 1n })
  await fetch()
  append({ records: [], lastOffsetDelta: 4 })
  await fetch()
  t.strictSame(movesOf(committed), [
    [1, -1n, 0n],
    [0, 0n, 2n],
    [0, 2n, 7n],
  ])
  t.strictSame(committed.at(-1)?.lastMessage, fingerprint(0, 'a'))
})

t.test('a damaged batch holds the partition behind what comes before it, until it can be read', async (t) => {
  const { broker, fetch, values, held, lines, publish, sleeps } = await withTen()
  publish(['k'])
  const damaged = broker.log[1] as Buffer
  damaged[damaged.length - 2] = 7
  await fetch()
  t.equal(values().join(''), 'abcd')
  t.match(held(), { topic: 'claims', partition: 0, reason: 'damaged', offset: 4n })
  t.match(lines, [
    {
      reason: 'damaged',
      firstOffset: '4',
      lastOffset: '9',
      msg: /^a partition is held; nothing is lost: .*`rejected skip`/,
    },
  ])
  await fetch()
  t.strictSame(sleeps, [500, 1_000])
  damaged[damaged.length - 2] = 'j'.charCodeAt(0)
  await fetch()
  t.equal(values().join(''), 'abcdefghijk')
  t.equal(held(), null)
})

t.test('a partition that the broker does not serve is held', async (t) => {
  const { broker, fetch, values, held } = await withTen()
  broker.error = 'TOPIC_AUTHORIZATION_FAILED'
  await fetch()
  t.match(held(), { reason: 'no-rights' })
  broker.error = 'KAFKA_STORAGE_ERROR'
  await fetch()
  t.match(held(), { reason: 'broker-error', detail: 'KAFKA_STORAGE_ERROR' })
  broker.error = null
  await fetch()
  t.equal(values().length, 10)
  t.equal(held(), null)
})

t.test('a partition of a topic that the broker hides is held', async (t) => {
  const { broker, held } = await withTen()
  broker.unserved = { reason: 'no-rights', sinceMs: 7 }
  t.match(held(), { reason: 'no-rights', offset: 0n, sinceMs: 7 })
  broker.unserved = null
  t.equal(held(), null)
})

t.test('a partition without a leader is held until it has one, and goes on by itself', async (t) => {
  const { broker, fetch, held, values, lines } = await withTen()
  broker.error = 'NOT_LEADER_FOR_PARTITION'
  await fetch()
  t.strictSame([held(), lines], [null, []], 'another broker may lead it')
  broker.error = 'LEADER_NOT_AVAILABLE'
  await fetch()
  t.match(held(), { reason: 'broker-error' })
  broker.unserved = { reason: 'no-leader', sinceMs: 7 }
  t.match(held(), { reason: 'no-leader', offset: 0n, sinceMs: 7 })
  broker.unserved = null
  broker.error = null
  await fetch()
  t.strictSame([held(), values().join('')], [null, 'abcdefghij'])
})

t.test('a batch that is under way for too long is said to be stuck', async (t) => {
  const commit = Promise.withResolvers<void>()
  const { fetch, held, clock, end } = await withTen({ beforeCommit: () => commit.promise })
  await fetch()
  clock.nowMs = 59_999
  t.equal(held(), null)
  clock.nowMs = 60_000
  t.match(held(), { reason: 'stuck', offset: 0n })
  commit.resolve()
  await end()
  t.equal(held(), null)
})

t.test('the age of the oldest unprocessed message is known, queued or under way', async (t) => {
  const commit = Promise.withResolvers<void>()
  const partition = onePartition({ batchCountMax: 1, beforeCommit: () => commit.promise })
  for (const baseTimestampMs of [100, 200, 300])
    partition.append({ baseTimestampMs, records: [{ value: 'a' }] })
  await partition.start()
  t.equal(partition.oldestMs(), null)
  await partition.fetch()
  t.equal(partition.oldestMs(), 100)
  commit.resolve()
  await settled()
  t.equal(partition.oldestMs(), null)
})

t.test('at the end the batch under way is finished, and no other is', async (t) => {
  const commit = Promise.withResolvers<void>()
  const { fetch, values, end, prepared } = await withTen({
    batchCountMax: 2,
    beforeCommit: () => commit.promise,
  })
  await fetch()
  t.equal(prepared.length, 1)
  const ended = end()
  await settled()
  commit.resolve()
  await ended
  t.equal(values().join(''), 'ab')
})

t.test('a batch whose turn comes after the end is not begun', async (t) => {
  const turn = Promise.withResolvers<void>()
  const { fetch, prepared, end } = await withTen({
    takeSlot: async () => {
      await turn.promise
      return () => {}
    },
  })
  await fetch()
  const ended = end()
  turn.resolve()
  await ended
  t.strictSame(prepared, [])
})

t.test('a partition that is assigned again waits for the batch under way', async (t) => {
  const commit = Promise.withResolvers<void>()
  const { fetch, values, start, kafkajs } = await withTen({ beforeCommit: () => commit.promise })
  await fetch()
  await start()
  await start()
  t.strictSame([kafkajs.isPaused, kafkajs.seeks], [true, [0n]])
  commit.resolve()
  await settled()
  t.strictSame(kafkajs.seeks, [0n, 9n], 'by the last of them alone')
  t.equal(values().length, 10)
})

t.test('whatever happens, each message is processed once and in order', async (t) => {
  for (let seed = 1; seed <= 150; seed++) {
    let state = seed
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return (state >>> 8) % below
    }
    let isCalm = false
    const faults = async () => {
      if (!isCalm && random(6) === 0) throw new Error('a fault')
      if (random(4) === 0) await settled()
    }
    const world = onePartition({
      batchCountMax: 1 + random(7),
      budgetBytes: 100 + random(2_000),
      prepare: faults,
      beforeCommit: faults,
      loadCheckpoint: faults,
    })
    let late: ReturnType<typeof world.ask> = null
    let count = 0
    await world.start()
    for (let step = 0; step < 60; step++) {
      world.clock.nowMs += 400
      const kind = random(10)
      if (kind < 3) {
        const values = Array.from({ length: 1 + random(5) }, () => String(count++))
        world.append({
          records: values.map((value) => ({ value })),
          lastOffsetDelta: values.length + random(2),
        })
      } else if (kind === 3) await world.start()
      else if (kind === 4) late = world.ask(1 + random(3))
      else if (kind === 5) world.hand(late)
      else if (kind === 6) world.broker.error = random(3) === 0 ? 'UNKNOWN' : null
      else if (kind === 7 && random(4) === 0) {
        // Another consumer takes the next message.
        const { offset } = world.database.checkpoint
        const last = world.broker.log.find((batch) => batch.readBigInt64BE(0) === offset + 1n)
        if (last !== undefined) await world.start()
      } else await world.fetch(1 + random(3))
    }
    isCalm = true
    world.broker.error = null
    for (let i = 0; i < 100 && world.values().length < count; i++) await world.fetch()
    await world.end()
    const expected = Array.from({ length: count }, (_, i) => String(i))
    if (world.values().join() !== expected.join()) t.strictSame(world.values(), expected, `seed ${seed}`)
  }
})
