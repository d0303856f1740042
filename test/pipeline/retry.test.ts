import { pino } from 'pino'
import t from 'tap'
import type { Facts } from '../../src/core/decision/facts.ts'
import type { RuleResult } from '../../src/core/decision/rule-result.ts'
import { decideRetry, type RetriedEntry } from '../../src/core/log/decide-retry.ts'
import type { DueEntry } from '../../src/core/log/due-entry.ts'
import type { Contact } from '../../src/core/party/contact.ts'
import { createRetry } from '../../src/pipeline/retry.ts'
import { clientOf, json, serve } from '../party/server.ts'

const due = (eventId: string, partyLocator: string | null = 'party-1'): DueEntry => ({
  locator: `NTF-${eventId}`,
  eventId,
  eventType: 'claim.paid',
  partyLocator,
  subject: 'S',
  body: 'B',
  attemptCount: 1,
  unknownAttempt: null,
})

const decideByParty = ({ party }: Facts): RuleResult => ({
  ruleId: 'r',
  outcome: party === 'found' ? 'SEND' : party === 'unresolved' ? 'FAIL' : 'SKIP',
  channel: 'EMAIL',
  reason: party === 'found' ? null : party,
})

/** The retry over pages of due rows, with a clock that stands until the test moves it. */
function world(given: {
  pages: DueEntry[][]
  contact?: (party: string) => Contact
  isDown?: () => boolean
  passMs?: number
  committed?: Promise<void>
}) {
  const retried: RetriedEntry[] = []
  const asked: string[][] = []
  const sleeps: { durationMs: number; wake: () => void }[] = []
  let nowMs = 0
  let pagesRead = 0
  const retry = createRetry<number>({
    listDueEntries: async (after) => {
      const page = after ?? 0
      pagesRead++
      nowMs += given.passMs ?? 0
      return { due: given.pages[page] ?? [], next: page + 1 < given.pages.length ? page + 1 : null }
    },
    contactsOf: async (parties) => {
      asked.push([...parties])
      const found: Contact = { state: 'found', email: 'a@example.com', phone: null }
      return new Map(parties.map((party) => [party, given.contact?.(party) ?? found]))
    },
    isDown: given.isDown ?? (() => false),
    commit: async (asked) => {
      const entries = asked.map((entry) => decideRetry(decideByParty, entry, undefined))
      retried.push(...entries)
      await given.committed
      return entries
    },
    clock: {
      nowMs: () => nowMs,
      sleep: (durationMs, signal) =>
        new Promise((resolve, reject) => {
          const abort = () => reject(new Error('aborted'))
          if (signal.aborted) abort()
          signal.addEventListener('abort', abort)
          sleeps.push({ durationMs, wake: resolve })
        }),
    },
    log: pino({ level: 'silent' }),
  })
  return { retry, retried, asked, sleeps, pagesRead: () => pagesRead }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('a pass takes every page that is due, with one look-up per distinct party of a page', async (t) => {
  const { retry, retried, asked } = world({ pages: [[due('a'), due('b')], [due('c', 'party-2')]] })
  await retry.pass()
  t.same(
    retried.map((entry) => entry.due.eventId),
    ['a', 'b', 'c'],
  )
  t.same(asked, [['party-1'], ['party-2']])
  t.match(retried[0], { status: 'SENT', attemptCount: 2, address: 'a@example.com' })
})

t.test('while a page is committed the next one is asked about, and none after it', async (t) => {
  const committed = Promise.withResolvers<void>()
  const { retry, retried, asked } = world({
    pages: [[due('a')], [due('b', 'party-2')], [due('c', 'party-3')]],
    committed: committed.promise,
  })
  const pass = retry.pass()
  await turn()
  t.equal(retried.length, 1)
  t.same(asked, [['party-1'], ['party-2']])
  committed.resolve()
  await pass
  t.equal(retried.length, 3)
})

t.test('stopping lets the page under way finish and commits no other', async (t) => {
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
  t.same(
    retried.map((entry) => entry.due.eventId),
    ['a'],
  )
})

t.test('each row is decided anew by the rule table', async (t) => {
  const contacts: Record<string, Contact> = {
    gone: { state: 'not found' },
    broken: { state: 'unresolved', error: 'it answered 500', unasked: false },
  }
  const { retry, retried } = world({
    pages: [[due('a', 'gone'), due('b', 'broken'), due('c', null)]],
    contact: (party) => contacts[party] ?? { state: 'not found' },
  })
  await retry.pass()
  t.match(retried, [
    { status: 'SKIPPED', decision: { failureReason: 'not found' } },
    { status: 'FAILED', decision: { failureReason: 'unresolved: it answered 500' } },
    { status: 'SKIPPED', decision: { failureReason: 'missing' } },
  ])
})

t.test('while policy administration is known to be down no attempt is burned', async (t) => {
  const { retry, retried, pagesRead } = world({
    pages: [[due('a'), due('b', null)], [due('c')]],
    contact: () => ({ state: 'unresolved', error: 'down', unasked: true }),
    isDown: () => true,
  })
  await retry.pass()
  t.same(
    retried.map((entry) => entry.due.eventId),
    ['b'],
    'who needs no contact is retried all the same',
  )
  t.equal(pagesRead(), 1)
})

for (const isDown of [false, true]) {
  const state = isDown ? 'down' : 'up'
  t.test(`who was asked for uses up an attempt, who was not does not, while it is ${state}`, async (t) => {
    const { retry, retried } = world({
      pages: [[due('a', 'asked'), due('b', 'unasked')]],
      contact: (party) => ({ state: 'unresolved', error: 'none', unasked: party === 'unasked' }),
      isDown: () => isDown,
    })
    await retry.pass()
    t.match(retried, [{ due: { eventId: 'a' }, status: 'FAILED', attemptCount: 2 }])
    t.equal(retried.length, 1)
  })
}

t.test(
  'parties that are broken for good use up their attempts and keep nobody else from being sent',
  async (t) => {
    const server = await serve(t, (request, response) => {
      if (request.url?.endsWith('/good')) json(response, { email: 'a@example.org', phone: null })
      else response.writeHead(500).end()
    })
    const { client } = clientOf(t, server.url, { connectionCountMax: 8 })
    await client.lookUp(['good'])
    let rows = [
      ...Array.from({ length: 60 }, (_, i) => due(`broken-${i}`, `broken-${i}`)),
      due('good', 'good'),
    ]
    const done: RetriedEntry[] = []
    const retry = createRetry<number>({
      listDueEntries: async () => ({ due: rows, next: null }),
      contactsOf: (parties) => client.lookUp(parties),
      isDown: client.isDown,
      commit: async (asked) => {
        const entries = asked.map((entry) => decideRetry(decideByParty, entry, undefined))
        const attemptCounts = new Map(entries.map((entry) => [entry.due.eventId, entry.attemptCount]))
        rows = rows.map((row) => ({
          ...row,
          attemptCount: attemptCounts.get(row.eventId) ?? row.attemptCount,
        }))
        const ended = entries.filter((entry) => entry.status !== 'FAILED' || entry.attemptCount === 3)
        done.push(...ended)
        rows = rows.filter((row) => !ended.some((entry) => entry.due.eventId === row.eventId))
        return entries
      },
      clock: { nowMs: () => 0, sleep: async () => {} },
      log: pino({ level: 'silent' }),
    })
    for (let pass = 0; pass < 10 && rows.length > 0; pass++) {
      await retry.pass()
      const waitedFromMs = performance.now()
      while (client.isDown() && performance.now() - waitedFromMs < 1_000) await turn()
    }
    t.equal(rows.length, 0, 'nothing is due any more')
    t.match(
      done.find((entry) => entry.due.eventId === 'good'),
      { status: 'SENT', address: 'a@example.org' },
    )
    t.equal(done.filter((entry) => entry.status === 'FAILED' && entry.attemptCount === 3).length, 60)
  },
)

t.test('passes start every 60 seconds, however long one takes', async (t) => {
  const { retry, sleeps, pagesRead } = world({ pages: [[]], passMs: 12_000 })
  retry.start()
  await turn()
  t.equal(pagesRead(), 1)
  t.same(
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
