import { mock } from 'node:test'
import t from 'tap'
import { Condition } from '../../../src/service/consume/condition-variable.ts'
import { createBudget, Inbox } from '../../../src/service/consume/inbox.ts'
import { takeFingerprint } from '../../../src/service/consume/records/record.ts'
import type { Batch } from '../../../src/service/decide/attempt/batch.ts'
import { Held, type Hold } from '../../../src/service/model/request/hold.ts'
import { type Given, OURS, onePartition, settled } from './one-partition.ts'
import { writeBatch, writeMarker } from './records/write-batch.ts'

const fingerprint = (offset: number, value: string) =>
  takeFingerprint({
    offset: BigInt(offset),
    timestampMs: 0n,
    key: null,
    value: Buffer.from(value),
    headers: {},
  })

const movesOf = (batches: readonly Batch[]) =>
  batches.map(({ messages, expectedCheckpoint, lastOffset }) => [
    messages.length,
    expectedCheckpoint,
    lastOffset,
  ])

/** A started partition with ten messages in two batches. */
async function withTen(given: Given = {}) {
  const partition = onePartition(given)
  partition.publish(['a', 'b', 'c', 'd'], ['e', 'f', 'g', 'h', 'i', 'j'])
  await partition.start()
  return partition
}

t.test('a fetch is cut into batches, and Kafka gets the offset after each', async (t) => {
  const { fetchOnce, committed, reports, wanted } = await withTen({ batchCountMax: 4 })
  await fetchOnce()
  t.strictSame(movesOf(committed), [
    [4, -1n, 3n],
    [4, 3n, 7n],
    [2, 7n, 9n],
  ])
  t.strictSame(reports, [0n, 4n, 8n, 10n], 'from the start, so that it names the database')
  const later = await withTen({ checkpoint: { offset: 3n, lastMessage: fingerprint(3, 'd') } })
  t.strictSame(later.reports, [4n], 'a new owner tells it what the last one could not')
  t.equal(wanted(), 10n)
})

t.test('a failed batch blocks the partition, and the backoff grows until one is committed', async (t) => {
  let failures = 3
  const { fetchOnce, committed, values, sleeps, lines, blocked } = await withTen({
    batchCountMax: 5,
    beforeCommit: async ({ expectedCheckpoint }) => {
      if (failures-- > 0) throw new TypeError('even a bug of ours must not end the consumer')
      if (expectedCheckpoint === 4n && failures === -2) throw new Error('again')
    },
  })
  await fetchOnce()
  t.strictSame(committed, [])
  t.match(blocked(), { reason: 'not-committed', offset: 0n, detail: /even a bug/ })
  t.match(lines, [{ msg: /^a partition is blocked; nothing is lost/, offset: '0', reason: 'not-committed' }])
  for (let i = 0; i < 4; i++) await fetchOnce()
  t.strictSame([sleeps, blocked()], [[500, 1_000, 2_000, 500], null])
  t.equal(values().join(''), 'abcdefghij')
})

t.test(
  'a held partition keeps nothing that others could fetch, and says who holds it, until the resume',
  async (t) => {
    const since = '2026-01-31T12:00:00.000000Z'
    const hold: Hold = { id: '1', by: 'alice', because: 'a wrong text', since, topics: null }
    let held: Hold | null = hold
    let beginCount = 0
    const partition = await withTen({
      batchCountMax: 4,
      budgetBytes: 20,
      ensureCheckpoint: async () => void beginCount++,
      beforeCommit: async () => {
        if (held !== null) throw new Held(held)
      },
      findHold: async () => held,
    })
    await partition.fetchOnce()
    t.match(partition.blocked(), {
      reason: 'held',
      offset: 0n,
      sinceMs: Date.parse(since),
      detail: /^held by alice since .* because a wrong text$/,
    })
    t.ok(partition.sleeps.length > 1)
    t.equal(partition.prepared.length, 1, 'nobody is looked up again')
    t.strictSame([partition.wanted(), partition.budget.isFull(0)], [null, false])
    t.equal(partition.oldestMs(), 0, 'the age of its events is known')
    held = null
    await settled()
    t.equal(partition.blocked(), null)
    while (await partition.fetchOnce());
    t.equal(partition.values().join(''), 'abcdefghij')
    t.equal(beginCount, 2)
    t.strictSame(partition.lines, [])
    await partition.end()
  },
)

t.test('a locked checkpoint is reported only if it is still locked after a pause', async (t) => {
  const lockedFor = async (failures: number) => {
    let left = failures
    const { sleeps, lines, blocked, fetchOnce, values } = await withTen({
      ensureCheckpoint: async () => {
        if (left-- > 0) throw new Error('locked by another session')
      },
    })
    const during = blocked()?.reason ?? null
    await settled()
    await fetchOnce()
    t.equal(values().length, 10)
    return { sleeps, reasons: lines.map(({ reason }) => reason), during, after: blocked() }
  }
  t.strictSame(await lockedFor(1), { sleeps: [500], reasons: [], during: null, after: null })
  t.strictSame(await lockedFor(2), {
    sleeps: [500, 1_000],
    reasons: ['locked'],
    during: 'locked',
    after: null,
  })
})

for (const [what, expected, found, processed, msg] of [
  ['another one moved', -1n, 6n, 'hij', 'another consumer moved the checkpoint: continuing from there'],
  [
    'a database that lost commits has',
    4n,
    2n,
    'abcdedefghij',
    'this database has lost the rows of up to 2 m',
  ],
] as const) {
  t.test(`the consumer continues at once from a checkpoint that ${what}, and says so`, async (t) => {
    let isMoved = false
    const { fetchOnce, database, values, sleeps, lines } = await withTen({
      batchCountMax: 5,
      beforeCommit: async ({ expectedCheckpoint }) => {
        if (expectedCheckpoint !== expected || isMoved) return
        isMoved = true
        database.checkpoint = { offset: found, lastMessage: null }
      },
    })
    await fetchOnce()
    await fetchOnce()
    t.strictSame([values().join(''), sleeps], [processed, []])
    t.match(lines, [{ msg: new RegExp(`^${msg}`) }])
  })
}

for (const [what, committed, count] of [
  ['this database', { next: 5n, database: OURS }, 3n],
  ['this database, and not more than it has', { next: 2n, database: OURS }, null],
  ['another database', { next: 5n, database: { ...OURS, id: OURS.id.replace('a', 'b') } }, null],
  ['an earlier version', { next: 5n, database: null }, null],
] as const) {
  t.test(
    `lost rows are named before the first event is sent again: Kafka has an offset of ${what}`,
    async (t) => {
      const place = { topic: 'claims', partition: 0 }
      const {
        lines,
        rowsLost,
        committed: batches,
        fetchOnce,
        reports,
      } = await withTen({
        checkpoint: { offset: 1n, lastMessage: null },
        committed: { ...place, ...committed },
      })
      t.strictSame(batches, [])
      t.strictSame(rowsLost, count === null ? [] : [count])
      t.match(lines, count === null ? [] : [{ level: 50, checkpoint: '1', committed: '4', remedy: /latest/ }])
      t.strictSame(reports, [2n])
      await fetchOnce()
      t.equal(lines.length, count === null ? 0 : 1, 'once')
    },
  )
}

t.test('a partition is not fetched from 4 MB queued on, until half of that is processed', async (t) => {
  const turn = Promise.withResolvers<void>()
  const { append, fetchOnce, wanted, start, committed } = onePartition({
    waitForTurn: () => turn.promise,
  })
  for (let i = 0; i < 9; i++) append({ records: [{ value: Buffer.alloc(1024 * 1024) }] })
  await start()
  let fetchCount = 0
  while (await fetchOnce(1)) fetchCount++
  t.strictSame([fetchCount, wanted()], [4, null])
  turn.resolve()
  await settled()
  t.equal(wanted(), 4n)
  while (await fetchOnce(1));
  t.equal(committed.at(-1)?.lastOffset, 8n)
})

t.test('while all queues are full, only a partition with an empty queue is fetched', async (t) => {
  const { fetchOnce, wanted, budget, values } = await withTen({ budgetBytes: 1_000 })
  budget.add(1_000)
  await fetchOnce(1)
  t.strictSame([values().length, wanted()], [4, 4n], 'slow partitions leave the others their turn')
  budget.add(3_000)
  t.equal(wanted(), null, 'far too many bytes wait')
  budget.add(-1)
  await fetchOnce(1)
  t.strictSame([values().length, wanted()], [10, 10n])
})

t.test('a batch without an end blocks the partition, and is not fetched in a loop', async (t) => {
  const partition = onePartition()
  partition.publish(['a', 'b'])
  await partition.start()
  const [batch] = partition.broker.log
  batch?.writeInt32BE(batch.length * 50, 8)
  await partition.fetchOnce()
  t.match(partition.blocked(), { reason: 'damaged' })
  t.strictSame(partition.values(), [])
  await partition.end()
})

t.test('a batch ends before it has too many bytes, but has at least one message', async (t) => {
  const { append, start, fetchOnce, committed } = onePartition()
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
  await fetchOnce()
  await settled()
  t.strictSame(
    committed.map(({ messages }) => messages.map(({ offset }) => Number(offset))),
    [[0, 1], [2], [3, 4], [5]],
  )
})

/** The end of the partition in the following test: a checkpoint there lies beyond the last message. */
const END = 12

for (const [what, offset, msg] of [
  [
    'another message at the offset of the last processed one',
    3,
    'the message at offset 3 is not the one that was processed',
  ],
  [
    'the end of a transaction at that offset',
    10,
    'the message at offset 10 is not the one that was processed',
  ],
  ['a checkpoint beyond the end', END, 'the checkpoint lies beyond the end of the partition'],
] as const) {
  t.test(`${what} means a recreated topic, which is read from its earliest offset`, async (t) => {
    const lastMessage = offset < END ? fingerprint(offset, 'what was processed') : null
    const checkpoint = { offset: BigInt(offset), lastMessage }
    const partition = await withTen({ checkpoint })
    const { broker, fetchOnce, publish, values, database, lines, rowsLost } = partition
    broker.log.push(writeMarker(10, 7, 'commit'))
    publish(['k'])
    await fetchOnce()
    t.strictSame(database.resets, [-1n])
    t.equal(lines[0]?.msg.startsWith(`${msg}: the topic was recreated`), true)
    await fetchOnce()
    t.equal(values().join(''), 'abcdefghijk')
    t.strictSame(rowsLost, [], 'offsets of the topic before do not count')
  })
}

for (const [what, checkpoint] of [
  ['beyond the checkpoint', 3],
  ['just behind the checkpoint', 9],
] as const)
  t.test(`a recreated topic is noticed however late its first fetch comes: it ends ${what}`, async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const lastMessage = fingerprint(checkpoint, 'what was processed')
    const partition = await withTen({ checkpoint: { offset: BigInt(checkpoint), lastMessage } })
    mock.timers.tick(5_000)
    await settled()
    await partition.fetchOnce()
    t.strictSame(partition.database.resets, [-1n])
  })

t.test(
  'once the broker has nothing in place of the last message, its end is asked for no more',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const partition = await withTen({ checkpoint: { offset: 9n, lastMessage: fingerprint(9, 'j') } })
    Object.assign(partition.broker, { log: [], emptyEnd: 10n })
    await partition.fetchOnce()
    for (let i = 0; i < 3; i++) {
      mock.timers.tick(5_000)
      await settled()
    }
    t.strictSame([partition.broker.endsCount, partition.database.resets], [1, []])
    await partition.end()
  },
)

t.test('messages, and the end, are not kept waiting by a broker that does not tell its ends', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const hung = Promise.withResolvers<void>()
  const partition = await withTen({ checkpoint: { offset: 3n, lastMessage: fingerprint(3, 'd') } })
  partition.broker.endsAnswer = hung.promise
  mock.timers.tick(5_000)
  await settled()
  await partition.fetchOnce()
  t.equal(partition.values().join(''), 'efghij')
  const quiet = await withTen({ checkpoint: { offset: 3n, lastMessage: fingerprint(3, 'd') } })
  quiet.broker.endsAnswer = hung.promise
  mock.timers.tick(5_000)
  await settled()
  await quiet.end()
  t.equal(quiet.broker.endsCount, 1)
})

for (const [what, lostCountMax] of [
  ['the answer to its reset is lost', 1],
  ['it is answered', 0],
] as const)
  t.test(`after a retention and a recreation a partition begins at the start: ${what}`, async (t) => {
    let lostCount = lostCountMax
    const { broker, fetchOnce, publish, values, blocked } = await afterRetention({
      checkpoint: { offset: 1n, lastMessage: fingerprint(1, 'b') },
      afterReset: async () => {
        if (lostCount-- > 0) throw new Error('the connection is lost')
      },
    })
    Object.assign(broker, { log: [], earliest: 0n })
    publish(['x', 'y'])
    for (let i = 0; i < 3; i++) await fetchOnce()
    t.strictSame([values(), blocked()], [['e', 'x', 'y'], null])
  })

t.test('a topic recreated before anything after a retention was processed begins at the start', async (t) => {
  const { broker, start, fetchOnce, publish, values, blocked } = onePartition()
  Object.assign(broker, { earliest: 4n, emptyEnd: 4n })
  await start()
  for (let i = 0; i < 2; i++) await fetchOnce()
  Object.assign(broker, { earliest: 0n, emptyEnd: null })
  publish(['x'])
  for (let i = 0; i < 2; i++) await fetchOnce()
  t.strictSame([values(), blocked()], [['x'], null])
})

t.test('rows that the database loses as the topic is recreated are named', async (t) => {
  const checkpoint = { offset: 3n, lastMessage: fingerprint(3, 'what was processed') }
  const { fetchOnce, database, rowsLost } = await withTen({ checkpoint })
  database.checkpoint = { offset: 1n, lastMessage: null }
  await fetchOnce()
  t.strictSame(rowsLost, [2n])
})

t.test('a reset whose answer is lost is no loss of rows', async (t) => {
  const partition = await withTen({
    checkpoint: { offset: BigInt(END), lastMessage: null },
    afterReset: () => Promise.reject(new Error('the connection is lost')),
  })
  await partition.fetchOnce()
  await partition.fetchOnce()
  t.strictSame([partition.database.resets, partition.rowsLost], [[-1n], []])
  t.equal(partition.values().join(''), 'abcdefghij')
})

t.test('a checkpoint that another consumer moved is not reset for a recreated topic', async (t) => {
  const checkpoint = { offset: 3n, lastMessage: fingerprint(3, 'what was processed') }
  const { fetchOnce, values, database, lines, sleeps } = await withTen({ checkpoint })
  database.checkpoint = { offset: 6n, lastMessage: null }
  await fetchOnce()
  await fetchOnce()
  t.strictSame([database.resets, sleeps], [[], []])
  t.equal(values().join(''), 'hij')
  t.strictSame(
    lines.map(({ msg }) => msg),
    ['another consumer moved the checkpoint: continuing from there'],
  )
})

t.test(
  'a partition that has ended meanwhile does not reset the checkpoint for a recreated topic',
  async (t) => {
    const told = Promise.withResolvers<void>()
    const partition = await withTen({ checkpoint: { offset: BigInt(END), lastMessage: null } })
    partition.broker.endsAnswer = told.promise
    await partition.fetchOnce()
    const ended = partition.end()
    told.resolve()
    await ended
    t.strictSame([partition.broker.endsCount, partition.database.resets], [1, []])
  },
)

/** Consumes a partition of five messages, of which retention has removed the first four. */
async function afterRetention(given: Given = {}) {
  const partition = onePartition(given)
  partition.publish(['a', 'b', 'c', 'd'], ['e'])
  partition.broker.log.shift()
  partition.broker.earliest = 4n
  await partition.start()
  await partition.fetchOnce()
  await partition.fetchOnce()
  return partition
}

t.test('messages that retention removed unprocessed are counted', async (t) => {
  const checkpoint = { offset: 1n, lastMessage: fingerprint(1, 'b') }
  const { values, lines, sleeps, lost } = await afterRetention({ checkpoint })
  t.strictSame([values(), sleeps, lost], [['e'], [], [['claims', 2n]]])
  t.match(lines, [
    {
      msg: "2 messages are lost: the broker's retention deleted them before they were processed",
      expected: '2',
      earliest: '4',
      gone: '2',
    },
  ])
})

t.test('messages that retention removed before their rows were lost are counted, too', async (t) => {
  const checkpoint = { offset: 3n, lastMessage: fingerprint(3, 'd') }
  const { database, fetchOnce, publish, values, lost, rowsLost } = await afterRetention({ checkpoint })
  database.checkpoint = { offset: 0n, lastMessage: null }
  publish(['f'])
  for (let i = 0; i < 3; i++) await fetchOnce()
  t.strictSame([values(), rowsLost, lost], [['e', 'e', 'f'], [4n], [['claims', 3n]]])
})

t.test('a first start after a retention begins at the earliest message, and calls none lost', async (t) => {
  const { values, lines, sleeps, lost } = await afterRetention()
  t.strictSame([values(), sleeps, lost], [['e'], [], []])
  t.match(lines, [{ level: 40, msg: /^no message of this partition was processed yet/, earliest: '4' }])
})

t.test('a damaged batch blocks the partition, after what is before it, until it can be read', async (t) => {
  const { broker, fetchOnce, values, blocked, lines, publish, sleeps } = await withTen()
  publish(['k'])
  const damaged = broker.log[1] as Buffer
  damaged[damaged.length - 2] = 7
  await fetchOnce()
  t.equal(values().join(''), 'abcd')
  t.match(blocked(), { topic: 'claims', partition: 0, reason: 'damaged', offset: 4n })
  t.match(lines, [
    {
      reason: 'damaged',
      firstOffset: '4',
      lastOffset: '9',
      msg: /^a partition is blocked; nothing is lost: .*`rejected skip`/,
    },
  ])
  await fetchOnce()
  t.strictSame(sleeps, [500, 1_000])
  damaged[damaged.length - 2] = 'j'.charCodeAt(0)
  await fetchOnce()
  t.equal(values().join(''), 'abcdefghijk')
  t.equal(blocked(), null)
})

t.test('a partition whose ends the broker does not tell is blocked by the broker', async (t) => {
  const { broker, fetchOnce, blocked } = await withTen()
  const reasonAfter = async (type: string) => {
    broker.error = 'OFFSET_OUT_OF_RANGE'
    broker.endsFail = Object.assign(new Error('the broker refused'), { type })
    await fetchOnce()
    return blocked()
  }
  t.match(await reasonAfter('KAFKA_STORAGE_ERROR'), { reason: 'broker-error', detail: 'KAFKA_STORAGE_ERROR' })
  t.match(await reasonAfter('TOPIC_AUTHORIZATION_FAILED'), { reason: 'no-rights' })
})

t.test('a partition that the broker does not serve is blocked, unless another may lead it', async (t) => {
  const { broker, fetchOnce, values, blocked, lines } = await withTen()
  const reasonAfter = async (error: string) => {
    broker.error = error
    await fetchOnce()
    return blocked()?.reason
  }
  t.equal(await reasonAfter('NOT_LEADER_FOR_PARTITION'), undefined)
  t.strictSame(lines, [])
  t.equal(await reasonAfter('TOPIC_AUTHORIZATION_FAILED'), 'no-rights')
  t.equal(await reasonAfter('LEADER_NOT_AVAILABLE'), 'broker-error')
  t.equal(await reasonAfter('KAFKA_STORAGE_ERROR'), 'broker-error')
  t.equal(blocked()?.detail, 'KAFKA_STORAGE_ERROR')
  await reasonAfter('KAFKA_STORAGE_ERROR')
  t.match(
    lines.map(({ detail, err, msg }) => ({ detail, err, msg })),
    [
      { detail: 'TOPIC_AUTHORIZATION_FAILED', err: undefined, msg: /grant it READ and DESCRIBE$/ },
      { detail: 'LEADER_NOT_AVAILABLE' },
      { detail: 'KAFKA_STORAGE_ERROR' },
    ],
    'each reason once, without a stack',
  )
  t.equal(lines.length, 3)
  for (const reason of ['no-rights', 'no-leader'] as const) {
    broker.unserved = { topic: 'claims', reason, sinceMs: 7 }
    t.match(blocked(), { reason, offset: 0n, sinceMs: 7 })
  }
  broker.unserved = null
  broker.error = null
  await fetchOnce()
  t.strictSame([blocked(), values().join('')], [null, 'abcdefghij'])
})

t.test('a partition that failed or was slow does not share its next transaction', async (t) => {
  const alone: boolean[] = []
  let failureCount = 1
  const { fetchOnce, values } = await withTen({
    batchCountMax: 4,
    slowAt: 7n,
    waitForTurn: async ({ isAlone }) => {
      alone.push(isAlone)
      if (failureCount-- > 0) throw new Error('no answer')
    },
  })
  await fetchOnce()
  await fetchOnce()
  t.strictSame([values().join(''), alone], ['abcdefghij', [false, true, false, true]])
})

t.test('a second change of leader is ignored, too, if the partition was quiet since the first', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { broker, fetchOnce, blocked, lines } = await withTen()
  broker.error = 'NOT_LEADER_FOR_PARTITION'
  await fetchOnce()
  mock.timers.tick(5_000)
  await settled()
  await fetchOnce()
  t.strictSame([lines, blocked()], [[], null])
})

t.test('a batch that is cut repeatedly is not stuck, and the age of its rest is known', async (t) => {
  const seen: unknown[] = []
  const partition = onePartition({
    askedCount: 1,
    beforeCommit: async () => {
      partition.clock.nowMs += 50_000
      seen.push(partition.blocked(), partition.oldestMs())
    },
  })
  const records = ['a', 'b', 'c'].map((value, i) => ({ value, timestampDelta: i }))
  partition.append({ baseTimestampMs: 100, records })
  await partition.start()
  await partition.fetchOnce()
  t.strictSame(seen, [null, 100, null, 101, null, 102])
})

t.test('a batch that runs for too long is reported as stuck', async (t) => {
  const commit = Promise.withResolvers<void>()
  const { fetchOnce, blocked, clock, end } = await withTen({ beforeCommit: () => commit.promise })
  await fetchOnce()
  Object.assign(clock, { nowMs: 59_999, aheadMs: 3_600_000 })
  t.equal(blocked(), null)
  Object.assign(clock, { nowMs: 60_000, aheadMs: -3_600_000 })
  t.match(blocked(), { reason: 'stuck', offset: 0n, sinceMs: -3_600_000 })
  commit.resolve()
  await end()
  t.equal(blocked(), null)
})

t.test('a last batch that fails is logged: nobody shows its partition as blocked any more', async (t) => {
  const commit = Promise.withResolvers<void>()
  const { fetchOnce, blocked, end, lines } = await withTen({ beforeCommit: () => commit.promise })
  await fetchOnce()
  const ended = end()
  commit.reject(new Error('the database is gone'))
  await ended
  t.match(lines, [{ msg: /^the last batch .* failed; the next owner/, err: { message: /database is gone/ } }])
  t.equal(blocked(), null)
})

t.test('a start that fails as the partition ends is no last batch', async (t) => {
  const start = Promise.withResolvers<void>()
  const { end, lines } = await withTen({ ensureCheckpoint: () => start.promise })
  const ended = end()
  start.reject(new Error('the database is gone'))
  await ended
  t.strictSame(lines, [])
})

t.test('the age of the oldest unprocessed message is known, whether queued or running', async (t) => {
  const commit = Promise.withResolvers<void>()
  const partition = onePartition({ batchCountMax: 1, beforeCommit: () => commit.promise })
  for (const baseTimestampMs of [100, 200, 300])
    partition.append({ baseTimestampMs, records: [{ value: 'a' }] })
  await partition.start()
  t.equal(partition.oldestMs(), null)
  await partition.fetchOnce()
  t.equal(partition.oldestMs(), 100)
  commit.resolve()
  await settled()
  t.equal(partition.oldestMs(), null)
})

for (const [what, point, finished] of [
  ['the running batch finishes after the end, and no other starts', 'beforeCommit', 'ab'],
  ['a batch whose turn comes after the end does not start', 'waitForTurn', ''],
] as const) {
  t.test(what, async (t) => {
    const turn = Promise.withResolvers<void>()
    const wait = () => turn.promise
    const { fetchOnce, values, end, prepared } = await withTen({ batchCountMax: 2, [point]: wait })
    await fetchOnce()
    const ended = end()
    await settled()
    turn.resolve()
    await ended
    t.strictSame([values().join(''), prepared.length], [finished, finished.length / 2])
  })
}

const LAST_OFFSET_DELTA_AT = 23

t.test('a skipped batch that claims the offsets of those after it does not block them', async (t) => {
  const damaged = writeBatch({ baseOffset: 10, records: [{ value: 'a' }] })
  damaged.writeInt32BE(990, LAST_OFFSET_DELTA_AT)
  const inbox = new Inbox(createBudget(1_000_000, new Condition()), 21n)
  // Brokers send it for every offset that its header claims.
  const bytes = Buffer.concat([damaged, writeBatch({ baseOffset: 21, records: [{ value: 'b' }] })])
  inbox.offer({ error: null, bytes, aborted: [] }, 21n)
  const taken = await inbox.take(10)
  t.match(taken, { messages: [{ offset: 21n }], lastOffset: 21n })
})
