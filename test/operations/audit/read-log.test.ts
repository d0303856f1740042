import t from 'tap'
import { readLog } from '../../../src/operations/audit/read-log.ts'
import { CorrectableError } from '../../../src/service/text/faults.ts'
import { writeBatch, writeMarker } from '../../service/consume/records/write-batch.ts'

/** A log whose broker sends this many batches at a time, from the one with the offset on. */
function brokerOf(batches: readonly Buffer[], atOnce: number, earliest = 0n) {
  const fetched: bigint[] = []
  const lastOf = (batch: Buffer) => batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(23))
  return {
    fetched,
    earliest: async () => earliest,
    fetch: async (from: bigint) => {
      fetched.push(from)
      if (from < earliest) return { error: 'OFFSET_OUT_OF_RANGE', bytes: Buffer.alloc(0), aborted: [] }
      const first = batches.findIndex((batch) => lastOf(batch) >= from)
      const bytes = Buffer.concat(first === -1 ? [] : batches.slice(first, first + atOnce))
      return { error: null, bytes, aborted: [] }
    },
  }
}

/** The pieces of a range of a log as `fate@offset`, or the kind of a piece. */
async function read(
  log: readonly Buffer[] | ReturnType<typeof brokerOf>,
  [from, end]: readonly [bigint, bigint],
  atOnce = 9,
): Promise<string> {
  const found: string[] = []
  const broker = 'fetch' in log ? log : brokerOf(log, atOnce)
  for await (const piece of readLog(broker, { from, end })) {
    if (piece.kind === 'messages')
      found.push(...piece.messages.map(({ offset }) => `${piece.fate}@${offset}`))
    else found.push(`${piece.kind}@${piece.first}-${piece.last}`)
  }
  return found.join(' ')
}

const batch = (baseOffset: number, producerId?: number, count = 1) =>
  writeBatch({
    baseOffset,
    ...(producerId !== undefined && { producerId, isTransactional: true }),
    records: Array.from({ length: count }, () => ({ value: 'x' })),
  })

/** Overlapping transactions of two producers; one ends and begins again after other batches. */
const LOG = [
  batch(0, 1),
  batch(1, 2, 2),
  batch(3),
  writeMarker(4, 2, 'abort'),
  batch(5, 2),
  batch(6, 1),
  writeMarker(7, 1, 'commit'),
  writeMarker(8, 2, 'commit'),
  batch(9, 3),
  batch(10),
]
const FATES = 'committed@0 aborted@1 aborted@2 committed@3 committed@5 committed@6 open@9 committed@10'

t.test('the next end record of its producer decides the fate of a message', async (t) => {
  for (const atOnce of [1, 2, 3, LOG.length])
    t.equal(await read(LOG, [0n, 11n], atOnce), FATES, String(atOnce))
})

t.test('a damaged batch is reported with its offsets, and the following ones are read', async (t) => {
  const damaged = Buffer.from(batch(2, undefined, 3))
  damaged[damaged.length - 1] = 99
  const log = [batch(0, undefined, 2), damaged, batch(5), batch(6)]
  const expected = 'committed@0 committed@1 unreadable@2-4 committed@5 committed@6'
  for (const atOnce of [2, 4]) t.equal(await read(log, [0n, 7n], atOnce), expected, String(atOnce))
})

t.test('offsets removed by retention meanwhile are counted, and the rest is read', async (t) => {
  const broker = brokerOf([batch(4), batch(5)], 1, 4n)
  t.equal(await read(broker, [1n, 6n]), 'removed@1-3 committed@4 committed@5')
})

t.test('a partition that the broker does not serve is an error with a remedy', async (t) => {
  for (const [error, message] of [
    [
      'TOPIC_AUTHORIZATION_FAILED',
      /^the broker does not serve offset 0: TOPIC_AUTHORIZATION_FAILED\. .*READ/,
    ],
    ['OFFSET_OUT_OF_RANGE', /^the broker has no offset 0, .*run it again$/],
  ] as const) {
    const refused = async () => ({ error, bytes: Buffer.alloc(0), aborted: [] })
    const broker = { ...brokerOf([], 1), fetch: refused as ReturnType<typeof brokerOf>['fetch'] }
    await t.rejects(read(broker, [0n, 1n]), { constructor: CorrectableError, message })
  }
})

t.test('a batch with a damaged base offset is reported, and the following ones are read', async (t) => {
  const withBase = (at: bigint, wrong: bigint) => {
    const damaged = Buffer.from(batch(Number(at)))
    damaged.writeBigInt64BE(wrong)
    return damaged
  }
  const middle = [batch(0), batch(1), withBase(2n, 1n), batch(3), batch(4)]
  const last = [batch(0), batch(1), batch(2), batch(3), withBase(4n, 3n)]
  for (const atOnce of [2, 3, 9]) {
    const found = await read(middle, [0n, 5n], atOnce)
    t.match(found, /^committed@0 committed@1 .*committed@3 committed@4$/, String(atOnce))
    t.notMatch(found, 'committed@2', String(atOnce))
  }
  const around = 'committed@0 committed@1 unreadable@2-2 committed@3 committed@4'
  t.equal(await read(middle, [0n, 5n]), around)
  const before = 'committed@0 committed@1 committed@2 committed@3 unreadable@4-4'
  for (const atOnce of [1, 9]) t.equal(await read(last, [0n, 5n], atOnce), before, String(atOnce))
})

t.test('an aborted batch that cannot be decoded is skipped, as by the consumer', async (t) => {
  const cut = (producerId?: number) =>
    writeBatch({
      baseOffset: 1,
      ...(producerId !== undefined && { producerId, isTransactional: true }),
      records: [{ value: 'x' }, { value: 'x' }, { value: 'x' }],
      recordCount: 4,
      lastOffsetDelta: 3,
    })
  const readWith = (some: Buffer, end: 'abort' | 'commit' = 'abort') =>
    read([batch(0), some, writeMarker(5, 1, end), batch(6)], [0n, 7n])
  t.equal(await readWith(cut(1)), 'committed@0 aborted@1 aborted@2 aborted@3 committed@6')
  const damaged = cut(1)
  damaged[damaged.length - 1] = 99
  t.equal(await readWith(damaged), 'committed@0 unreadable@1-4 committed@6')
  t.match(await readWith(cut()), / unreadable@4-4 /)
  t.match(await readWith(cut(1), 'commit'), / unreadable@4-4 /)
})
