import pino from 'pino'
import t from 'tap'
import { createDispatch } from '../../../src/service/attempt/dispatch.ts'
import { type LookUpNeeds, lookUpBatch, type Reading } from '../../../src/service/attempt/look-up.ts'
import type { Attempt } from '../../../src/service/decide/attempt/attempt.ts'
import { unobserved } from '../../../src/service/decide/attempt/stage.ts'
import type { Store } from '../../../src/service/decide/attempt/store.ts'
import type { LoggedRow } from '../../../src/service/decide/event/conflict.ts'
import type { Message } from '../../../src/service/decide/event/message.ts'
import type { Event } from '../../../src/service/decide/event/parse-event.ts'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import { until } from '../../stack/until.ts'
import { aMessage } from '../build.ts'
import { aLoggedRow, aParsedEvent, FOUND, recordingSend, SIMPLE_RULES } from '../decide/attempt/build.ts'
import { aMaker } from './build.ts'
import { MemoryStore } from './memory-store.ts'

/** The pipeline over a store in memory; a message's value is its event id and party, `!` makes it no event. */
function world(given: {
  logged?: LoggedRow[]
  /** The event that an earlier envelope map reads. */
  then?: Event
  contact?: (party: string) => Contact
  /** Parties that are not requested in time. */
  unasked?: string[]
  /** Called at the start of each transaction. */
  begin?: () => void
  monotonicMs?: () => number
  /** Called before rows are looked up. */
  findLogged?: () => void
  /** Called before contacts are answered. */
  lookUp?: (parties: readonly string[]) => Promise<void>
  /** Called before each statement. */
  step?: (statement: string) => Promise<void>
}) {
  const asked: string[][] = []
  const parsed: string[] = []
  const memory = new MemoryStore()
  const session = memory.connect(async (statement) => {
    if (statement === 'BEGIN') given.begin?.()
    await given.step?.(statement)
    return undefined
  })
  const isWorthRestart = (error: unknown) => error instanceof Error && error.message === 'rollback'
  const store: Store = { ...session, isWorthRestart }
  const recording = recordingSend()
  const timers = new Set<() => void>()
  const warnings: object[] = []
  const restarts = { count: 0 }
  let locatorCount = 0
  const parse: ReturnType<LookUpNeeds['parserFor']> = ({ value }) => {
    const text = String(value)
    parsed.push(text)
    if (text.startsWith('!')) return { kind: 'rejection', rejection: { code: 'not-json', error: 'no' } }
    const [eventId = '', party = 'party-1'] = text.split('@')
    return {
      kind: 'event',
      event: aParsedEvent(
        eventId,
        party === '' ? { partyLocator: null, reference: '' } : { partyLocator: party },
      ),
    }
  }
  const lookUps: LookUpNeeds = {
    parserFor: () => parse,
    envelopeMapRevision: 'ghi',
    parseBy: (_topic, message, revision) =>
      given.then === undefined || revision === 'ghi' ? parse(message) : { kind: 'event', event: given.then },
    findLogged: async (all) => {
      given.findLogged?.()
      return all.map(() => ({ rows: new Map(given.logged?.map((row) => [row.eventId, row])), pruned: [] }))
    },
    lookUpContacts: async (parties) => {
      asked.push([...parties])
      await given.lookUp?.(parties)
      const inTime = parties.filter((party) => !given.unasked?.includes(party))
      return new Map(inTime.map((party) => [party, given.contact?.(party) ?? FOUND]))
    },
    stage: unobserved,
    newLocator: () => `NTF-${locatorCount++}`,
    takeFingerprint: ({ offset }: Message) => ({ offset, sha256: `of ${offset}` }),
  }
  const batchOf = (values: readonly string[], partition = 0) => ({
    topic: 'claims',
    partition,
    messages: values.map((value, i) => aMessage(BigInt(i), value)),
    expectedCheckpoint: -1n,
    lastOffset: BigInt(values.length - 1),
    lastMessage: null,
  })
  const maker = aMaker(store, recording.send, SIMPLE_RULES, {
    monotonicMs: given.monotonicMs ?? (() => 0),
    startTimer: (_durationMs, run) => {
      timers.add(run)
      return () => timers.delete(run)
    },
  })
  const decided: string[][] = []
  const noting = {
    ...maker,
    onCommit: (attempts: readonly Attempt[]) => void decided.push(attempts.map(({ eventId }) => eventId)),
  }
  const countRestart = () => void restarts.count++
  const log = pino({ base: null }, { write: (line) => warnings.push(JSON.parse(line)) })
  const dispatch = createDispatch(noting, lookUps, countRestart, log)
  return {
    run: async (...values: string[]) => {
      const [result] = await Promise.all(dispatch([{ batch: batchOf(values), isAlone: false }]))
      if (result === undefined) throw new Error('no result')
      return result
    },
    /** One batch for each partition, all at once. Partitions in `alone` do not share. */
    runAll: (batches: readonly string[][], alone: readonly number[] = []) =>
      Promise.allSettled(
        dispatch(
          batches.map((values, partition) => ({
            batch: batchOf(values, partition),
            isAlone: alone.includes(partition),
          })),
        ),
      ),
    lookUp: (...values: string[]) => lookUpBatch(lookUps, batchOf(values)),
    timers,
    decided,
    restarts,
    warnings,
    asked,
    parsed,
    memory,
    recording,
  }
}

const offsetsOf = (messages: readonly Message[]) => messages.map(({ offset }) => offset)
const readOffsets = (readings: readonly Reading[]) => offsetsOf(readings.map(({ message }) => message))

t.test('the first message of an event id counts, and all of them are known', async (t) => {
  const { run, lookUp, memory } = world({})
  const { readings } = await lookUp('a', 'b', 'a', 'a')
  t.strictSame(readOffsets(readings('a')), [0n, 2n, 3n])
  await run('a', 'b', 'a', 'a')
  t.match(memory.decisions(), [
    { eventId: 'a', origin: { offset: 0n } },
    { eventId: 'b', origin: { offset: 1n } },
  ])
})

t.test('a message with the event id of another one is a conflict, and its row is named', async (t) => {
  const other = (eventId: string) => aLoggedRow(eventId, { partyLocator: 'q' })
  const own = { topic: 'claims', partition: 0, offset: 2n }
  const { run, asked, memory } = world({
    logged: [other('a'), { ...other('b'), origin: own }, { ...other('c'), origin: null }, aLoggedRow('d')],
  })
  const result = await run('a@p', 'a@q', 'b', 'c', 'd@party-1', 'e@p', 'e@p', 'e@q')
  t.match(result, { inserted: { length: 1 }, rejected: { length: 2 } })
  t.match(
    memory.rejected().map(({ message: { offset }, rejection }) => [offset, rejection]),
    [
      [0n, { code: 'conflict', error: /: NTF-a of billing\/0, offset 0, has another party$/ }],
      [7n, { code: 'conflict', error: /: NTF-0 of claims\/0, offset 5, has another party$/ }],
    ],
  )
  t.strictSame(asked, [['p']], 'the other members are not looked up')
})

t.test('messages without a party and a reference are not the same event', async (t) => {
  const { run, memory } = world({ logged: [aLoggedRow('a', { partyLocator: null, reference: '' })] })
  await run('a@', 'b@', 'b@', 'c@p', 'c@p')
  t.strictSame(offsetsOf(memory.rejected().map(({ message }) => message)), [0n, 2n])
})

t.test('a conflict between partitions is found whichever writes first', async (t) => {
  const { runAll, memory } = world({})
  const results = await runAll([['a@p'], ['a@q', 'a@p']])
  t.equal(memory.rows().length, 1)
  t.match(results, [
    { value: { inserted: { length: 1 } } },
    { value: { inserted: [], rejected: [{ message: { offset: 0n }, rejection: { code: 'conflict' } }] } },
  ])
  t.equal(memory.rejected().length, 1, 'the copy of the other partition is a duplicate')
})

t.test('a row of an earlier envelope map is compared as that map reads the message', async (t) => {
  const logged = (envelopeMapRevision: string) => [
    aLoggedRow('a', { partyLocator: 'q', envelopeMapRevision }),
  ]
  const asIt = (partyLocator: string, eventId = 'a') => aParsedEvent(eventId, { partyLocator })
  for (const [revision, then, count] of [
    ['earlier', asIt('q'), 0],
    ['earlier', asIt('r'), 1],
    ['earlier', asIt('q', 'b'), 1],
    ['ghi', asIt('q'), 1],
  ] as const) {
    const { run, memory } = world({ logged: logged(revision), then })
    await run('a@p')
    t.equal(memory.rejected().length, count)
  }
})

t.test('conflicts are warned of once a minute', async (t) => {
  let nowMs = 0
  const { run, memory, warnings } = world({ monotonicMs: () => nowMs, logged: [aLoggedRow('a')] })
  for (const ms of [0, 1, 2, 60_000]) {
    nowMs = ms
    memory.setCheckpoint({ topic: 'claims', partition: 0 }, -1n)
    await run('a@p', 'a@q', 'b')
  }
  t.match(warnings, [
    { count: 2, topic: 'claims', partition: 0, offset: '0', error: /NTF-a of billing\/0, offset 0/ },
    { count: 6 },
  ])
  t.equal(warnings.length, 2)
})

t.test('a message is parsed once, however many events the database refuses', async (t) => {
  const { run, parsed, memory } = world({})
  memory.refuses = (_table, { eventId }) => (/^[ab]$/.test(eventId) ? 'no' : null)
  await run('a', 'b', 'c', 'a')
  t.strictSame(parsed, ['a', 'b', 'c', 'a'])
  t.strictSame(offsetsOf(memory.rejected().map(({ message }) => message)).sort(), [0n, 1n, 3n])
})

t.test('only decisions that are committed put the rule table in force', async (t) => {
  const { run, memory, decided } = world({})
  await run('!')
  memory.setCheckpoint({ topic: 'claims', partition: 0 }, -1n)
  memory.refuses = () => 'no'
  await t.rejects(run('a'), /no/)
  t.strictSame(decided, [])
  memory.refuses = () => null
  await run('a')
  t.strictSame(decided, [['a']])
})

t.test('a schema that breaks while refused rows are looked for rejects no message', async (t) => {
  const { run, memory } = world({})
  let probeCount = 0
  memory.refuses = (table, { locator, kind }) => {
    if (!locator.startsWith('NTF-probe')) return 'no'
    if (table === 'log' && kind === 'first') probeCount++
    return probeCount > 1 ? 'gone' : null
  }
  await t.rejects(run('a', 'b'), /gone/)
  t.strictSame(memory.rejected(), [])
})

t.test('one look-up is made per distinct party of events that are not logged yet', async (t) => {
  const { run, asked, memory } = world({ logged: [aLoggedRow('a'), aLoggedRow('b')] })
  await run('a@gone', 'b@gone', 'c@p', 'd@p', 'e@q', 'f@')
  t.strictSame(asked, [['p', 'q']])
  t.equal(memory.rows().length, 4)
  await run('!', '!')
  t.equal(asked.length, 1, 'none for rejected messages')
})

t.test('a batch ends before the first event whose party was not requested in time', async (t) => {
  const { run, lookUp, memory } = world({ unasked: ['q', 'r'] })
  const values = ['b@p', '!', 'a@p', 'c@', 'd@q', '!', 'e@p', 'a@p', 'f@r']
  const { batch, readings } = await lookUp(...values)
  t.match(batch, { lastOffset: 3n, lastMessage: { offset: 3n, sha256: 'of 3' }, expectedCheckpoint: -1n })
  t.strictSame(readOffsets(readings('a')), [2n], 'messages behind the cut belong to the next batch')
  t.match(await run(...values), { kind: 'committed', lastOffset: 3n })
  t.strictSame(
    memory.rows().map(({ eventId }) => eventId),
    ['a', 'b', 'c'],
  )
  t.match(memory.rejected(), [{ message: { offset: 1n } }])
  t.equal(memory.rejected().length, 1)
})

t.test('a logged event needs no party and cuts no batch', async (t) => {
  const { lookUp } = world({ unasked: ['q'], logged: [aLoggedRow('b')] })
  const { batch, open } = await lookUp('a@p', 'b@q', 'c@p')
  t.match(batch, { lastOffset: 2n, lastMessage: null })
  t.equal(open.length, 2)
})

t.test('a batch whose first party was not requested is an error, and nothing is written', async (t) => {
  const { run, memory } = world({ unasked: ['p'] })
  await t.rejects(run('a@p', 'b@q'), { message: /not even the first party/ })
  t.equal(memory.rows().length, 0)
})

t.test('after a rollback the batch starts again at the look-ups, a limited number of times', async (t) => {
  let failures = 2
  let message = 'rollback'
  const begin = () => {
    if (failures-- > 0) throw new Error(message)
  }
  const { run, asked } = world({ begin })
  t.match(await run('a'), { kind: 'committed' })
  t.equal(asked.length, 3)
  failures = Number.POSITIVE_INFINITY
  await t.rejects(run('a'), { message: 'rollback' })
  message = 'the database is gone'
  asked.length = 0
  await t.rejects(run('a'), { message })
  t.equal(asked.length, 1, 'any other error is passed on at once')
})

/** Counts the transactions. */
function countBegins() {
  const counted = { count: 0, begin: () => void counted.count++ }
  return counted
}

t.test('small batches of several partitions share a transaction', async (t) => {
  const transactions = countBegins()
  const { runAll, memory, recording } = world({ begin: transactions.begin })
  const results = await runAll([['a', 'b'], ['!'], ['b', 'c']])
  t.match(
    results.map((result) => result.status === 'fulfilled' && result.value),
    [
      { inserted: [{ eventId: 'a' }, { eventId: 'b' }], rejected: [], lastOffset: 1n },
      { inserted: [], rejected: [{ message: { offset: 0n } }], lastOffset: 0n },
      { inserted: [{ eventId: 'c' }], rejected: [], lastOffset: 1n },
    ],
  )
  t.equal(transactions.count, 1)
  t.strictSame(recording.sent, ['a', 'b', 'c'], 'an id in two partitions has one row and one message')
  t.strictSame(
    [0, 1, 2].map((partition) => memory.checkpoint({ topic: 'claims', partition })),
    [1n, 0n, 1n],
  )
})

t.test('a batch of many messages or many bytes has its own transaction', async (t) => {
  const transactions = countBegins()
  const { runAll } = world({ begin: transactions.begin })
  await runAll([
    ['a'],
    Array.from({ length: 101 }, (_, i) => `large-${i}`),
    ['!'.repeat(64 * 1024 + 1)],
    ['b'],
  ])
  t.equal(transactions.count, 3)
})

t.test('a partition that another consumer moved or locks holds up no other', async (t) => {
  const { runAll, memory } = world({})
  memory.setCheckpoint({ topic: 'claims', partition: 0 }, 5n)
  const holding = Promise.withResolvers<void>()
  const isHeld = Promise.withResolvers<void>()
  const other = memory.connect().transaction(async (tx) => {
    await tx.lockCheckpoints([{ topic: 'claims', partition: 1 }], [])
    isHeld.resolve()
    await holding.promise
  })
  await isHeld.promise
  let isOver = false
  const results = runAll([['a'], ['b'], ['c']]).finally(() => {
    isOver = true
  })
  await until(() => memory.rows().some(({ eventId }) => eventId === 'c'), { what: 'the row of c' })
  t.notOk(isOver)
  holding.resolve()
  await other
  t.match(await results, [
    { value: { kind: 'moved' } },
    { value: { kind: 'committed' } },
    { value: { kind: 'committed' } },
  ])
  t.strictSame(
    memory.rows().map(({ eventId }) => eventId),
    ['b', 'c'],
  )
})

t.test('if a shared transaction fails, each batch has its own', async (t) => {
  const transactions = countBegins()
  const { runAll, memory } = world({
    begin: transactions.begin,
    step: async (statement) => {
      if (statement === 'insertRejected') throw new Error('this table is gone')
    },
  })
  const statuses = async (alone: readonly number[], ...batches: string[][]) =>
    (await runAll(batches, alone)).map(({ status }) => status)
  t.strictSame(await statuses([], ['a'], ['!'], ['b']), ['fulfilled', 'rejected', 'fulfilled'])
  t.equal(transactions.count, 1 + 3)
  for (const partition of [0, 2]) memory.setCheckpoint({ topic: 'claims', partition }, -1n)
  t.strictSame(await statuses([1], ['c'], ['!'], ['d']), ['fulfilled', 'rejected', 'fulfilled'])
  t.equal(transactions.count, 1 + 3 + 2, 'one that failed before does not share')
})

t.test('a hold stops the batches of a shared transaction at once, and those of no other topic', async (t) => {
  const transactions = countBegins()
  const { runAll, memory, asked } = world({ begin: transactions.begin })
  const elsewhere = await memory.hold(['billing'])
  t.match(await runAll([['a'], ['b']]), [{ status: 'fulfilled' }, { status: 'fulfilled' }])
  memory.resume(elsewhere)
  await memory.hold(['claims'])
  transactions.count = 0
  asked.length = 0
  for (const partition of [0, 1]) memory.setCheckpoint({ topic: 'claims', partition }, -1n)
  const results = await runAll([['c'], ['d']])
  t.match(results, [{ reason: { hold: { by: 'alice' } } }, { reason: { hold: { by: 'alice' } } }])
  t.equal(transactions.count, 1)
  t.equal(asked.length, 2, 'each batch is looked up once')
})

t.test('a batch waits for the look-ups of others only until the timer', async (t) => {
  const answered = Promise.withResolvers<void>()
  const { runAll, memory, timers } = world({
    lookUp: ([party]) => (party === 'slow' ? answered.promise : Promise.resolve()),
  })
  const results = runAll([['a@slow'], ['b@fast']])
  await until(() => timers.size === 1, { what: 'the timer' })
  for (const run of timers) run()
  await until(() => memory.rows().length === 1, { what: 'the row of b' })
  answered.resolve()
  t.match(await results, [{ value: { kind: 'committed' } }, { value: { kind: 'committed' } }])
})

t.test('a failed look-up makes no other batch wait, then or later', async (t) => {
  const { runAll, memory } = world({
    lookUp: async ([party]) => {
      if (party === 'gone') throw new Error('no answer')
    },
  })
  // No timer is run here.
  t.match(await runAll([['a@gone'], ['b@p']]), [{ status: 'rejected' }, { value: { kind: 'committed' } }])
  memory.setCheckpoint({ topic: 'claims', partition: 1 }, -1n)
  t.match(await runAll([['c@p'], ['d@p']]), [
    { value: { kind: 'committed' } },
    { value: { kind: 'committed' } },
  ])
})

t.test('a rollback of a shared transaction counts for each batch, which then has its own', async (t) => {
  let failures = 1
  const { runAll, restarts, asked } = world({
    begin: () => {
      if (failures-- > 0) throw new Error('rollback')
    },
  })
  t.match(await runAll([['a'], ['b']]), [{ value: { kind: 'committed' } }, { value: { kind: 'committed' } }])
  t.equal(restarts.count, 2)
  t.equal(asked.length, 4, 'from the look-ups')
})

t.test('if a shared look-up of rows fails, each batch has its own', async (t) => {
  for (const [message, restartCount] of [
    ['no answer', 0],
    ['rollback', 2],
  ] as const) {
    let failures = 1
    const { runAll, restarts } = world({
      findLogged: () => {
        if (failures-- > 0) throw new Error(message)
      },
    })
    t.match(await runAll([['a'], ['b']]), [
      { value: { kind: 'committed' } },
      { value: { kind: 'committed' } },
    ])
    t.equal(restarts.count, restartCount)
  }
})

t.test('a result says whether its transaction was slow', async (t) => {
  let nowMs = 0
  for (const [tookMs, wasSlow] of [
    [499, false],
    [500, true],
  ] as const) {
    const { runAll } = world({
      begin: () => {
        nowMs += tookMs
      },
      monotonicMs: () => nowMs,
    })
    t.match(await runAll([['a'], ['b']]), [{ value: { wasSlow } }, { value: { wasSlow } }])
  }
})

t.test('an event id that the database refuses in two partitions is rejected once in each', async (t) => {
  const { runAll, memory } = world({})
  const countsOf = async (id: string) => {
    for (const partition of [0, 1]) memory.setCheckpoint({ topic: 'claims', partition }, -1n)
    return (await runAll([[id], [id]])).map((result) => {
      if (result.status === 'rejected' || result.value.kind === 'moved') throw new Error('not committed')
      return [result.value.inserted.length, result.value.rejected.length]
    })
  }
  memory.refuses = (_table, { eventId }) => (eventId === 'a' ? 'no' : null)
  t.strictSame(await countsOf('a'), [
    [0, 1],
    [0, 1],
  ])
  memory.refuses = (_table, { eventId, origin }) => (eventId === 'b' && origin.partition === 0 ? 'no' : null)
  t.strictSame(await countsOf('b'), [
    [0, 1],
    [1, 0],
  ])
})
