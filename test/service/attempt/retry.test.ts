import { pino } from 'pino'
import t from 'tap'
import type { PartiesAgain } from '../../../src/service/attempt/look-up.ts'
import { createRetry } from '../../../src/service/attempt/retry.ts'
import type { Attempt } from '../../../src/service/decide/attempt/attempt.ts'
import type { RetryEntry } from '../../../src/service/decide/attempt/retry-entry.ts'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import { aFound } from '../build.ts'
import { aDueEntry } from '../decide/attempt/build.ts'
import { aRetryMaker } from './retry-maker.ts'

const due = (eventId: string, partyLocator: string | null = 'party-1') => aDueEntry(eventId, { partyLocator })

/** The retry over pages of due rows, with a clock that stands until the test moves it. */
function world(given: {
  pages: RetryEntry[][]
  contact?: (party: string) => Contact
  /** Parties that cannot be asked for in time now. */
  unasked?: (party: string) => boolean
  isDown?: () => boolean
  passMs?: number
  committed?: Promise<void>
}) {
  const retried: Attempt[] = []
  const asked: string[][] = []
  const sleeps: { durationMs: number; wake: () => void }[] = []
  let nowMs = 0
  let pagesRead = 0
  const maker = aRetryMaker(
    async (attempts) => {
      retried.push(...attempts)
      await given.committed
    },
    {
      monotonicMs: () => nowMs,
      sleep: (durationMs, signal) =>
        new Promise((resolve, reject) => {
          const abort = () => reject(new Error('aborted'))
          if (signal.aborted) abort()
          signal.addEventListener('abort', abort)
          sleeps.push({ durationMs, wake: resolve })
        }),
    },
  )
  const parties: PartiesAgain = {
    lookUpAgain: async (parties) => {
      asked.push([...parties])
      const inTime = parties.filter((party) => !given.unasked?.(party))
      return new Map(inTime.map((party) => [party, given.contact?.(party) ?? aFound()]))
    },
    isDown: given.isDown ?? (() => false),
  }
  const retry = createRetry<number>(
    maker,
    parties,
    async (after, _, upTo) => {
      const page = after ?? 0
      pagesRead++
      nowMs += given.passMs ?? 0
      return { due: given.pages[page] ?? [], next: page + 1 < (upTo ?? given.pages.length) ? page + 1 : null }
    },
    pino({ level: 'silent' }),
  )
  return { retry, retried, asked, sleeps, pagesRead: () => pagesRead }
}

const idsOf = (attempts: readonly Attempt[]) => attempts.map(({ eventId }) => eventId)
const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('a pass retries every due page, with one look-up per distinct party of a page', async (t) => {
  const { retry, retried, asked } = world({ pages: [[due('a'), due('b')], [due('c', 'party-2')]] })
  await retry.pass()
  t.strictSame(idsOf(retried), ['a', 'b', 'c'])
  t.strictSame(asked, [['party-1'], ['party-2']])
  t.match(retried[0], { status: 'SENT', attemptCount: 2, address: 'a@example.com' })
})

t.test('a pass whose next page cannot be read ends only after the running commit', async (t) => {
  const committed = Promise.withResolvers<void>()
  const { retry, retried } = world({
    pages: [[due('a')], [due('b', 'party-2')]],
    committed: committed.promise,
    contact: (party) => {
      if (party === 'party-2') throw new Error('the database is gone')
      return { state: 'not found' }
    },
  })
  let isOver = false
  const pass = retry.pass().catch((error: Error) => {
    isOver = true
    return error.message
  })
  for (let i = 0; i < 5; i++) await turn()
  t.strictSame([retried.length, isOver], [1, false])
  committed.resolve()
  t.equal(await pass, 'the database is gone')
})

t.test('a page that cannot be committed holds up no other', async (t) => {
  const committed = Promise.reject(new Error('the connection is lost'))
  const { retry, retried } = world({ pages: [[due('a')], [due('b')]], committed })
  await retry.pass()
  t.strictSame(idsOf(retried), ['a', 'b'])
})

t.test('while a page is committed, the parties of the next page alone are looked up', async (t) => {
  const committed = Promise.withResolvers<void>()
  const { retry, retried, asked } = world({
    pages: [[due('a')], [due('b', 'party-2')], [due('c', 'party-3')]],
    committed: committed.promise,
  })
  const pass = retry.pass()
  await turn()
  t.equal(retried.length, 1)
  t.strictSame(asked, [['party-1'], ['party-2']])
  committed.resolve()
  await pass
  t.equal(retried.length, 3)
})

t.test('a stop lets the running page finish and commits no other', async (t) => {
  const committed = Promise.withResolvers<void>()
  const { retry, retried } = world({
    pages: [[due('a')], [due('b')]],
    committed: committed.promise,
  })
  retry.start()
  await turn()
  const stopped = retry.stop()
  committed.resolve()
  await stopped
  t.strictSame(idsOf(retried), ['a'])
})

for (const isDown of [false, true]) {
  const state = isDown ? 'down' : 'up'
  t.test(`only a requested party uses up an attempt (policy administration ${state})`, async (t) => {
    const { retry, retried, pagesRead } = world({
      pages: [[due('a', 'asked'), due('b', 'unasked'), due('c', null)], []],
      contact: (party) => ({
        state: 'unresolved',
        error: 'none',
        costsNoAttempt: party === 'unasked',
      }),
      isDown: () => isDown,
    })
    await retry.pass()
    t.match(retried, [{ eventId: 'a', status: 'FAILED', attemptCount: 2 }, { eventId: 'c' }])
    t.equal(retried.length, 2)
    t.equal(pagesRead(), isDown ? 1 : 2)
  })
}

t.test('rows whose party was not requested in time come before the next page', async (t) => {
  let round = 0
  const { retry, retried, asked } = world({
    pages: [[due('a', 'first'), due('b', 'second'), due('c', null), due('d', 'first')], [due('e', 'third')]],
    unasked: (party) => party === 'second' && round++ === 0,
  })
  await retry.pass()
  t.strictSame(asked, [['first', 'second'], ['second'], ['third']])
  t.strictSame(idsOf(retried), ['a', 'c', 'd', 'b', 'e'])
})

t.test('a pass continues where the previous one stopped, and ends there', async (t) => {
  let downAt = 'party-2'
  const { retry, asked } = world({
    pages: [1, 2, 3, 4].map((page) => [due(`${page}`, `party-${page}`)]),
    isDown: () => asked.some((parties) => parties.includes(downAt)),
  })
  const askedByPass = async () => {
    asked.length = 0
    await retry.pass()
    return asked.flat()
  }
  t.strictSame(await askedByPass(), ['party-1', 'party-2'])
  downAt = 'nobody'
  t.strictSame(
    await askedByPass(),
    ['party-2', 'party-3', 'party-4', 'party-1'],
    'and the page that it stopped at again',
  )
  t.strictSame(
    await askedByPass(),
    ['party-1', 'party-2', 'party-3', 'party-4'],
    'a pass that was whole is followed by one from the oldest',
  )
})

t.test('passes start every 60 seconds, however long one takes', async (t) => {
  const { retry, sleeps, pagesRead } = world({ pages: [[]], passMs: 12_000 })
  retry.start()
  await turn()
  t.equal(pagesRead(), 1)
  t.strictSame(
    sleeps.map(({ durationMs }) => durationMs),
    [60_000 - 12_000],
  )
  sleeps[0]?.wake()
  await turn()
  t.equal(pagesRead(), 2)
  await retry.stop()
})

t.test('a pass that fails is followed by the next one', async (t) => {
  let fail = true
  const { retry, sleeps, pagesRead } = world({
    pages: [[due('a')]],
    isDown: () => {
      if (fail) throw new Error('the database is gone')
      return false
    },
  })
  retry.start()
  await turn()
  fail = false
  sleeps[0]?.wake()
  await turn()
  t.equal(pagesRead(), 2)
  await retry.stop()
})
