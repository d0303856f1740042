import type { EachBatchPayload, KafkaMessage } from 'kafkajs'
import { pino } from 'pino'
import t from 'tap'
import type { Batch, CommitResult } from '../../src/core/batch/batch.ts'
import type { Checkpoint, Fingerprint } from '../../src/core/batch/checkpoint.ts'
import { fingerprintOf } from '../../src/kafka/fingerprint.ts'
import { createPartitionConsumer } from '../../src/kafka/partition.ts'

/** One partition whose broker and database are told what to say. */
function partition(given: {
  checkpoint?: bigint
  lastMessage?: Fingerprint
  loadCheckpoint?: () => Promise<Checkpoint>
  offsets?: { earliest: bigint; end: bigint }
  batchCountMax?: number
  inTurn?: <Result>(work: () => Promise<Result>) => Promise<Result>
  dispatch?: (batch: Batch, heartbeat: () => Promise<void>) => Promise<CommitResult>
}) {
  const batches: Batch[] = []
  const seeks: bigint[] = []
  const commits: bigint[] = []
  const resets: bigint[] = []
  const sleeps: number[] = []
  const trailing: Promise<void>[] = []
  const stopping = new AbortController()
  const lines: { level: number; msg: string }[] = []
  const consumer = createPartitionConsumer({
    loadCheckpoint:
      given.loadCheckpoint ??
      (async () => ({ offset: given.checkpoint ?? -1n, lastMessage: given.lastMessage ?? null })),
    resetCheckpoint: async (_topic, _partition, _held, offset) => {
      resets.push(offset)
      return offset
    },
    dispatch: async (batch, heartbeat) => {
      batches.push(batch)
      return given.dispatch
        ? await given.dispatch(batch, heartbeat)
        : { kind: 'committed', inserted: [], rejected: [] }
    },
    offsetsOf: async () => given.offsets ?? { earliest: 0n, end: 1_000n },
    seek: (_topic, _partition, offset) => seeks.push(offset),
    reportToKafka: (_topic, _partition, next) => commits.push(next),
    sleep: async (durationMs) => {
      sleeps.push(durationMs)
    },
    inTurn: given.inTurn ?? ((work) => work()),
    track: (work) => trailing.push(work),
    stopping: stopping.signal,
    batchCountMax: () => given.batchCountMax ?? 500,
    log: pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) }),
  })

  /** Delivers messages of these offsets, as fetched from `fetchedOffset` on, and waits for the last batch of them. */
  async function deliver(...given: Parameters<typeof deliverOnly>) {
    const delivered = await deliverOnly(...given)
    await Promise.all(trailing)
    return delivered
  }

  /** Resolves as kafkajs would be told. */
  async function deliverOnly(
    offsets: number[],
    fetched: {
      fetchedOffset?: number
      lastOffset?: number
      highWatermark?: number
      messages?: Partial<KafkaMessage>[]
    } = {},
    payload: Partial<EachBatchPayload> = {},
  ) {
    const resolved: string[] = []
    await consumer.eachBatch({
      batch: {
        topic: 'claims',
        partition: 0,
        highWatermark: String(fetched.highWatermark ?? 1_000),
        fetchedOffset: String(fetched.fetchedOffset ?? offsets[0]),
        messages: offsets.map((offset, i) => ({
          offset: String(offset),
          key: null,
          value: Buffer.from('x'),
          headers: {},
          ...fetched.messages?.[i],
        })),
        firstOffset: () => String(offsets[0]),
        lastOffset: () => String(fetched.lastOffset ?? offsets.at(-1)),
      },
      resolveOffset: (offset: string) => resolved.push(offset),
      heartbeat: async () => {},
      isRunning: () => true,
      isStale: () => false,
      ...payload,
    } as unknown as EachBatchPayload)
    return { resolved }
  }
  return {
    deliver,
    deliverOnly,
    /** When no batch is under way. */
    settled: () => Promise.all(trailing),
    /** Tells of a fetch of these offsets that held nothing to deliver. */
    filter: (firstOffset: number | null, lastOffset: number) =>
      consumer.onFiltered({
        topic: 'claims',
        partition: 0,
        firstOffset: firstOffset === null ? null : String(firstOffset),
        lastOffset: String(lastOffset),
      }),
    batches,
    seeks,
    commits,
    resets,
    sleeps,
    lines,
    stop: () => stopping.abort(),
    join: (partitions = [0]) => consumer.onJoin({ claims: partitions }),
  }
}
const offsetsOf = (batches: Batch[]) =>
  batches.map((batch) => batch.messages.map(({ offset }) => Number(offset)))

t.test(
  'the last batch of a fetch is left under way, and the next fetch of its partition waits',
  async (t) => {
    const committed = [Promise.withResolvers<CommitResult>(), Promise.withResolvers<CommitResult>()]
    let heartbeatCount = 0
    const { deliver, deliverOnly, batches } = partition({
      dispatch: (batch) => (committed[batch.heldOffset < 0n ? 0 : 1] as (typeof committed)[number]).promise,
    })
    const { resolved } = await deliverOnly([0, 1], { lastOffset: 2 })
    t.strictSame(resolved, ['2'], 'kafkajs fetches what follows')
    const heard = Promise.withResolvers<void>()
    const heartbeat = async () => {
      if (++heartbeatCount === 3) heard.resolve()
      // As those of a broker do: a loop of nothing else would let nothing else happen.
      await new Promise((resolve) => setImmediate(resolve))
    }
    const next = deliver([3, 4], {}, { heartbeat })
    await heard.promise
    t.strictSame(offsetsOf(batches), [[0, 1]], 'it has waited for three heartbeats')
    const done: CommitResult = { kind: 'committed', inserted: [], rejected: [] }
    committed[0]?.resolve(done)
    committed[1]?.resolve(done)
    await next
    t.strictSame(offsetsOf(batches), [
      [0, 1],
      [3, 4],
    ])
    t.equal(batches[1]?.heldOffset, 2n)
  },
)

t.test('a membership that is lost while the batch before is waited for ends the fetch', async (t) => {
  const lost = new Error('rebalancing')
  const { deliverOnly, batches } = partition({ dispatch: () => new Promise(() => {}) })
  await deliverOnly([0])
  await t.rejects(deliverOnly([1], {}, { heartbeat: () => Promise.reject(lost) }), lost)
  t.strictSame(offsetsOf(batches), [[0]])
})

t.test('a batch under way is not given up for a heartbeat that fails, and is tried again', async (t) => {
  let failures = 2
  const { deliver, batches, commits } = partition({
    dispatch: async (_batch, heartbeat) => {
      await heartbeat()
      if (failures-- > 0) throw new Error('the database is gone')
      return { kind: 'committed', inserted: [], rejected: [] }
    },
  })
  await deliver([0], {}, { heartbeat: () => Promise.reject(new Error('rebalancing')) })
  t.equal(batches.length, 3)
  t.strictSame(commits, [1n])
})

t.test(
  'a new membership reads its checkpoint when the batch under way is done, without new tries',
  async (t) => {
    const tried = Promise.withResolvers<CommitResult>()
    const given = { checkpoint: -1n, dispatch: () => tried.promise }
    const { deliverOnly, batches, join, seeks } = partition(given)
    await deliverOnly([0])
    const joined = join()
    await new Promise((resolve) => setImmediate(resolve))
    t.strictSame(seeks, [])
    given.checkpoint = 7n
    tried.reject(new Error('the database is gone'))
    await joined
    t.strictSame(seeks, [8n])
    t.equal(batches.length, 1)
  },
)

t.test('however often the group is joined, no checkpoint is read while a batch is under way', async (t) => {
  const tried = Promise.withResolvers<CommitResult>()
  const { deliverOnly, join, seeks } = partition({ dispatch: () => tried.promise })
  await deliverOnly([0])
  const joined = [join(), join()]
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(seeks, [])
  tried.resolve({ kind: 'committed', inserted: [], rejected: [] })
  await Promise.all(joined)
  t.strictSame(seeks, [0n], 'by the last one alone')
})

t.test('a fetch of a partition that is not ours any more is left alone', async (t) => {
  const { deliver, batches, join } = partition({})
  await join([1])
  await deliver([0], {}, { resolveOffset: () => t.fail('kafkajs knows of no such partition now') })
  t.strictSame(batches, [])
})

t.test('a batch whose turn comes after a stop is not begun', async (t) => {
  const turn = Promise.withResolvers<void>()
  const { deliverOnly, batches, stop, settled } = partition({
    inTurn: async (work) => {
      await turn.promise
      return await work()
    },
  })
  await deliverOnly([0])
  stop()
  turn.resolve()
  await settled()
  t.strictSame(batches, [])
})

t.test('on a stop, a fetch ends when the batch before it is done', async (t) => {
  const tried = Promise.withResolvers<CommitResult>()
  const { deliverOnly, batches, stop } = partition({ dispatch: () => tried.promise })
  await deliverOnly([0])
  stop()
  let ended = false
  const next = deliverOnly([1]).then(() => {
    ended = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(ended, false)
  tried.resolve({ kind: 'committed', inserted: [], rejected: [] })
  await next
  t.strictSame(offsetsOf(batches), [[0]])
})

t.test('a fetch is cut into batches, each resolved, and told to Kafka as its offset + 1', async (t) => {
  const { deliver, batches, commits } = partition({ batchCountMax: 2 })
  const { resolved } = await deliver([0, 1, 2, 3, 4], { lastOffset: 5 })
  t.same(offsetsOf(batches), [[0, 1], [2, 3], [4]])
  t.same(
    batches.map(({ heldOffset, nextOffset }) => [heldOffset, nextOffset]),
    [
      [-1n, 1n],
      [1n, 3n],
      [3n, 5n],
    ],
  )
  t.same(resolved, ['1', '3', '5'])
  t.same(commits, [2n, 4n, 6n])
})

t.test('offsets at or below the checkpoint are done already and skipped', async (t) => {
  const { deliver, batches, seeks } = partition({ checkpoint: 2n })
  await deliver([1, 2, 3, 4])
  t.same(offsetsOf(batches), [[3, 4]])
  const behind = partition({ checkpoint: 9n })
  await behind.deliver([1, 2, 3])
  t.same(behind.batches, [])
  t.same(behind.seeks, [10n])
  t.same(seeks, [])
})

t.test('a fetch that starts beyond the checkpoint is sought back, once, and then accepted', async (t) => {
  const { deliver, batches, seeks, lines } = partition({ checkpoint: 4n })
  await deliver([8, 9])
  t.same(seeks, [5n])
  t.same(batches, [])
  await deliver([8, 9], { fetchedOffset: 8 })
  t.same(seeks, [5n])
  t.same(offsetsOf(batches), [[8, 9]])
  t.same(lines, [], 'those offsets never existed: nothing to report')
})

t.test('messages that retention removed before they were processed are counted in the log', async (t) => {
  const { deliver, batches, lines } = partition({ checkpoint: 4n, offsets: { earliest: 8n, end: 10n } })
  await deliver([8, 9])
  await deliver([8, 9])
  t.same(offsetsOf(batches), [[8, 9]])
  t.match(lines, [
    {
      msg: '3 messages are lost: the broker’s retention deleted them before they were processed'.replace(
        '’',
        "'",
      ),
    },
  ])
})

t.test(
  'a checkpoint beyond the end starts a topic that was created anew from its earliest offset',
  async (t) => {
    const { deliver, batches, resets, lines } = partition({
      checkpoint: 99n,
      offsets: { earliest: 0n, end: 2n },
    })
    await deliver([0, 1], { highWatermark: 2 })
    t.same(resets, [-1n])
    t.same(offsetsOf(batches), [[0, 1]])
    t.match(lines, [{ msg: /the topic was recreated/ }])
  },
)

t.test('a checkpoint beyond an old fetch is no new topic', async (t) => {
  const { deliver, resets, seeks } = partition({ checkpoint: 99n, offsets: { earliest: 0n, end: 200n } })
  await deliver([0, 1], { highWatermark: 2 })
  t.same(resets, [])
  t.same(seeks, [100n])
})

t.test('a checkpoint that another consumer moved is gone on from', async (t) => {
  const { deliver, seeks, commits } = partition({
    dispatch: async () => ({ kind: 'moved', checkpoint: 41n }),
  })
  await deliver([0, 1])
  t.same(seeks, [42n])
  t.same(commits, [])
})

t.test('an infrastructure error is waited out, with heartbeats, and skips nothing', async (t) => {
  let failures = 3
  let heartbeats = 0
  const { deliver, batches, sleeps } = partition({
    dispatch: async () => {
      if (failures-- > 0) throw new TypeError('even a bug of ours must not end the consumer')
      return { kind: 'committed', inserted: [], rejected: [] }
    },
  })
  const { resolved } = await deliver(
    [0, 1],
    {},
    {
      heartbeat: async () => {
        heartbeats++
      },
    },
  )
  t.same(offsetsOf(batches), [
    [0, 1],
    [0, 1],
    [0, 1],
    [0, 1],
  ])
  t.same(sleeps, [500, 1_000, 1_000, 1_000])
  t.ok(heartbeats >= 4)
  t.same(resolved, ['1'])
})

t.test('what was committed since the last infrastructure error ends the row of them', async (t) => {
  let attemptCount = 0
  const { deliver, sleeps } = partition({
    batchCountMax: 1,
    // Every batch fails once.
    dispatch: async () => {
      if (++attemptCount % 2 === 1) throw new Error('connection terminated')
      return { kind: 'committed', inserted: [], rejected: [] }
    },
  })
  await deliver([0, 1, 2, 3])
  t.equal(attemptCount, 8)
  t.strictSame(sleeps, [500, 500, 500, 500])
})

t.test('a lost membership ends the fetch with kafkajs’s own error', async (t) => {
  const lost = Object.assign(new Error('rebalancing'), {
    name: 'KafkaJSProtocolError',
    type: 'REBALANCE_IN_PROGRESS',
  })
  const { deliver, batches } = partition({
    batchCountMax: 1,
    dispatch: async (_batch, heartbeat) => {
      await heartbeat()
      return { kind: 'committed', inserted: [], rejected: [] }
    },
  })
  await t.rejects(deliver([0, 1], {}, { heartbeat: () => Promise.reject(lost) }), lost)
  t.equal(batches.length, 1)
})

t.test('a consumer that stops takes no further batch', async (t) => {
  let running = true
  const { deliver, batches } = partition({
    batchCountMax: 1,
    dispatch: async () => {
      running = false
      return { kind: 'committed', inserted: [], rejected: [] }
    },
  })
  const { resolved } = await deliver([0, 1, 2], {}, { isRunning: () => running })
  t.same(offsetsOf(batches), [[0]])
  t.same(resolved, ['0'])
})

t.test('a broker that does not answer a heartbeat holds no stop', async (t) => {
  const { deliver, batches, stop } = partition({
    batchCountMax: 1,
    dispatch: async (_batch, heartbeat) => {
      setImmediate(stop)
      await heartbeat()
      return { kind: 'committed', inserted: [], rejected: [] }
    },
  })
  const silence = () => new Promise<void>(() => {})
  const { resolved } = await deliver([0, 1], {}, { heartbeat: silence })
  t.same(offsetsOf(batches), [[0]])
  t.same(resolved, ['0'], 'the batch under way is finished')
})

t.test('on joining the group each partition is fetched from its checkpoint on', async (t) => {
  const given = { checkpoint: -1n }
  const { deliver, batches, join, seeks } = partition(given)
  await deliver([0])
  given.checkpoint = 5n
  await join()
  t.same(seeks, [6n])
  await deliver([5, 6])
  t.same(offsetsOf(batches), [[0], [6]])
})

t.test('a checkpoint that cannot be read on joining is waited for', async (t) => {
  let failures = 2
  const { join, seeks, sleeps } = partition({
    loadCheckpoint: async () => {
      if (failures-- > 0) throw new Error('the database is gone')
      return { offset: 7n, lastMessage: null }
    },
  })
  await join()
  t.same(sleeps, [500, 1_000])
  t.same(seeks, [8n])
})

/** The fingerprint of a message that this file delivers. */
const fingerprint = (offset: number, value = 'x') =>
  fingerprintOf({ offset: String(offset), key: null, value: Buffer.from(value) } as KafkaMessage)

t.test('each batch carries the fingerprint of its last message', async (t) => {
  const { deliver, batches } = partition({ batchCountMax: 2 })
  await deliver([0, 1, 2], {
    messages: ['a', 'b', 'c'].map((value) => ({ value: Buffer.from(value) })),
    lastOffset: 3,
  })
  t.same(
    batches.map(({ lastMessage }) => lastMessage),
    [fingerprint(1, 'b'), fingerprint(2, 'c')],
  )
})

t.test('on joining the last processed message is fetched once more, and compared', async (t) => {
  const { deliver, batches, join, seeks, resets, lines } = partition({
    checkpoint: 5n,
    lastMessage: fingerprint(4),
  })
  await join()
  t.same(seeks, [4n])
  await deliver([4, 6, 7], { fetchedOffset: 4 })
  t.same(offsetsOf(batches), [[6, 7]])
  t.same([resets, lines], [[], []])
})

t.test('where no new message comes, the comparison leaves the checkpoint alone', async (t) => {
  const { deliver, batches, join, seeks, resets } = partition({ checkpoint: 4n, lastMessage: fingerprint(4) })
  await join()
  await deliver([4])
  t.same([seeks, batches, resets], [[4n, 5n], [], []])
})

t.test('another message in its place is a topic that was created anew and has outgrown it', async (t) => {
  const { deliver, batches, join, seeks, resets, lines } = partition({
    checkpoint: 4n,
    lastMessage: fingerprint(4, 'what was processed'),
    offsets: { earliest: 2n, end: 9n },
  })
  await join()
  await deliver([4, 5])
  t.same([resets, seeks, batches], [[1n], [4n, 2n], []])
  t.match(lines, [
    { msg: /^the message at offset 4 is not the one that was processed: the topic was recreated/ },
  ])
  await deliver([2, 3, 4, 5])
  t.same(offsetsOf(batches), [[2, 3, 4, 5]])
})

t.test('a fetch that comes in before the last message was asked for is not taken', async (t) => {
  const { deliver, batches, seeks } = partition({ checkpoint: 4n, lastMessage: fingerprint(4) })
  await deliver([5, 6])
  t.same([seeks, batches], [[4n], []])
  await deliver([4, 5, 6])
  t.same(offsetsOf(batches), [[5, 6]])
})

t.test('a last message that is gone cannot be compared, and rewinds nothing', async (t) => {
  const { deliver, batches, join, seeks, resets } = partition({ checkpoint: 4n, lastMessage: fingerprint(4) })
  await join()
  await deliver([5, 6], { fetchedOffset: 4 })
  t.same(offsetsOf(batches), [[5, 6]])
  t.same([seeks, resets], [[4n], []])
})

t.test('a batch ends before it holds too many bytes, but holds at least one message', async (t) => {
  const { deliver, batches } = partition({})
  const megabytes = (count: number) => Buffer.alloc(count * 1024 * 1024)
  await deliver([0, 1, 2, 3, 4, 5], {
    messages: [
      { value: megabytes(3) },
      { value: megabytes(4) },
      { value: megabytes(9) },
      { key: megabytes(1) },
      { headers: { 'of one value': megabytes(1), 'of two': [megabytes(2), megabytes(3)] } },
      { headers: { 'of one value': megabytes(3) } },
    ],
  })
  t.same(offsetsOf(batches), [[0, 1], [2], [3, 4], [5]])
})

const movesOf = (batches: Batch[]) =>
  batches.map(({ messages, heldOffset, nextOffset }) => [messages.length, heldOffset, nextOffset])

t.test('a fetch of which nothing is delivered moves the checkpoint, through the fence', async (t) => {
  const { batches, commits, filter, join } = partition({ checkpoint: 4n })
  await join()
  await Promise.all([filter(5, 9), filter(8, 12)])
  t.same(movesOf(batches), [
    [0, 4n, 9n],
    [0, 9n, 12n],
  ])
  t.same(commits, [5n, 10n, 13n])
})

t.test(
  'on joining Kafka is told where the checkpoint is, for what was committed last may never have been',
  async (t) => {
    const processed = partition({ checkpoint: 4n })
    await processed.join()
    t.same(processed.commits, [5n])
    const fresh = partition({})
    await fresh.join()
    t.same(fresh.commits, [])
  },
)

t.test('a fetch of which nothing is delivered keeps the fingerprint of the last message', async (t) => {
  const { batches, deliver, filter } = partition({})
  await deliver([0])
  await filter(1, 3)
  t.same(batches[1]?.lastMessage, fingerprint(0))
})

t.test(
  'it moves nothing where what lies before it may not be done, or where it is done itself',
  async (t) => {
    const unknown = partition({ checkpoint: 4n })
    await unknown.filter(5, 9)
    const { batches, filter, join } = partition({ checkpoint: 4n })
    await join()
    await filter(6, 9)
    await filter(2, 4)
    await filter(null, 9)
    const uncompared = partition({ checkpoint: 4n, lastMessage: fingerprint(4) })
    await uncompared.join()
    await uncompared.filter(5, 9)
    t.same([unknown.batches, batches, uncompared.batches], [[], [], []])
  },
)

t.test('a fetch that follows waits until the checkpoint is moved', async (t) => {
  const done = Promise.withResolvers<void>()
  const { batches, deliver, filter, join, seeks } = partition({
    dispatch: async ({ messages }) => {
      if (messages.length === 0) await done.promise
      return { kind: 'committed', inserted: [], rejected: [] }
    },
  })
  await join()
  const filtered = filter(0, 3)
  const delivered = deliver([4, 5])
  setImmediate(done.resolve)
  await Promise.all([filtered, delivered])
  t.same(movesOf(batches), [
    [0, -1n, 3n],
    [2, 3n, 5n],
  ])
  t.same(seeks, [0n])
})

t.test('a checkpoint that cannot be moved past it is moved by the next message', async (t) => {
  let failures = 1
  const { batches, deliver, filter, join, lines } = partition({
    dispatch: async () => {
      if (failures-- > 0) throw new Error('the database is gone')
      return { kind: 'committed', inserted: [], rejected: [] }
    },
  })
  await join()
  await filter(0, 3)
  t.match(lines, [{ msg: /^the checkpoint could not be moved past an aborted transaction/ }])
  await deliver([4], { fetchedOffset: 0 })
  t.same(movesOf(batches).at(-1), [1, -1n, 4n])
})
