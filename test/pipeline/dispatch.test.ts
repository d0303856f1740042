import t from 'tap'
import type { CommitResult, DecidedBatch } from '../../src/core/batch/batch.ts'
import { decideBatch } from '../../src/core/batch/decide-batch.ts'
import type { Message } from '../../src/core/event/message.ts'
import type { Event } from '../../src/core/event/parse-event.ts'
import type { Contact } from '../../src/core/party/contact.ts'
import type { Preferences } from '../../src/core/party/preferences.ts'
import { type DispatchNeeds, dispatchBatch } from '../../src/pipeline/dispatch.ts'

const template = { name: 't', revision: 'rev', source: '', subject: () => 'S', body: () => 'B' }
const found: Contact = { state: 'found', email: 'a@example.com', phone: '1' }

/** The pipeline over a world in memory; a message's value is its event id, `!` makes it no event. */
function world(given: {
  logged?: string[]
  preferences?: [string, Preferences][]
  contact?: (party: string) => Contact
  /** Parties that could not be asked for in time. */
  unasked?: string[]
  commit?: (batch: DecidedBatch) => Promise<CommitResult>
}) {
  const asked: string[][] = []
  const committed: DecidedBatch[] = []
  let locatorCount = 0
  const needs: DispatchNeeds = {
    parse: ({ value }) => {
      const text = String(value)
      if (text.startsWith('!')) return { kind: 'rejection', rejection: { code: 'not-json', error: 'no' } }
      const [eventId = '', party = 'party-1'] = text.split('@')
      const event: Event = {
        eventId,
        eventType: 'claim.paid',
        partyLocator: party === '' ? null : party,
        partyLocatorInvalid: false,
        locator: 'CLM',
        reason: null,
        traceId: null,
      }
      return { kind: 'event', event }
    },
    envelopeMapRevision: 'ghi',
    findLogged: async () => ({
      eventIds: new Set(given.logged),
      pruned: [],
    }),
    contactsOf: async (parties) => {
      asked.push([...parties])
      const inTime = parties.filter((party) => !given.unasked?.includes(party))
      return new Map(inTime.map((party) => [party, given.contact?.(party) ?? found]))
    },
    ruleTable: {
      revision: 'table',
      decide: (facts) => ({
        ruleId: 'r',
        outcome:
          facts.party === 'found'
            ? facts.optedOut
              ? 'SKIP'
              : 'SEND'
            : facts.party === 'unresolved'
              ? 'FAIL'
              : 'SKIP',
        channel: facts.preferredChannel,
        reason: facts.party === 'found' ? (facts.optedOut ? 'opted out' : null) : facts.party,
      }),
    },
    templates: { byEventType: new Map(), generic: template },
    commit: async (prepared) => {
      const batch = decideBatch(prepared, new Map(given.preferences))
      if (given.commit !== undefined) return given.commit(batch)
      committed.push(batch)
      return {
        kind: 'committed',
        nextOffset: batch.nextOffset,
        inserted: batch.entries,
        rejected: batch.rejected,
      }
    },
    isConflict: (error) => error instanceof Error && error.message === 'conflict',
    newLocator: () => `NTF-${locatorCount++}`,
  }
  const run = (...values: string[]) =>
    dispatchBatch(needs, {
      topic: 'claims',
      partition: 0,
      messages: values.map(
        (value, i): Message => ({ offset: BigInt(i), key: null, value: Buffer.from(value), headers: {} }),
      ),
      heldOffset: -1n,
      nextOffset: BigInt(values.length - 1),
      lastMessage: null,
      fingerprintAt: (offset) => ({ offset, sha256: `of ${offset}` }),
    })
  return { run, asked, committed }
}

t.test('rows are ordered by event id, so that two partitions cannot deadlock', async (t) => {
  const { run, committed } = world({})
  await run('c', 'a', 'b')
  t.same(
    committed[0]?.entries.map(({ event, offset }) => [event.eventId, offset]),
    [
      ['a', 1n],
      ['b', 2n],
      ['c', 0n],
    ],
  )
})

t.test('of one event id in a batch the first occurrence counts, and all can be told', async (t) => {
  const { run, committed } = world({})
  await run('a', 'b', 'a', 'a')
  t.same(
    committed[0]?.messagesOf('a').map(({ offset }) => offset),
    [0n, 2n, 3n],
  )
  t.same(
    committed[0]?.entries.map(({ event, offset }) => [event.eventId, offset]),
    [
      ['a', 0n],
      ['b', 1n],
    ],
  )
})

t.test('one look-up is made per distinct party of events that are not logged yet', async (t) => {
  const { run, asked, committed } = world({ logged: ['a', 'b'] })
  await run('a@gone', 'b@gone', 'c@p', 'd@p', 'e@q', 'f@')
  t.same(asked, [['p', 'q']])
  t.equal(committed[0]?.entries.length, 4)
})

t.test('opted-out and in-app parties are looked up too, because the contact is resolved first', async (t) => {
  const optedOut: Preferences = {
    preferredChannel: 'IN_APP',
    optedOutEvents: new Set(['claim.paid']),
    changeId: '7',
  }
  const { run, asked, committed } = world({ preferences: [['p', optedOut]] })
  await run('a@p')
  t.same(asked, [['p']])
  t.match(committed[0]?.entries, [
    {
      status: 'SKIPPED',
      text: null,
      decision: { failureReason: 'opted out', channel: 'IN_APP', preferenceChangeId: '7' },
    },
  ])
})

t.test('a failed row keeps its text for the retry and says why the look-up failed', async (t) => {
  const { run, committed } = world({
    contact: () => ({ state: 'unresolved', error: 'it answered 500', unasked: false }),
  })
  await run('a')
  t.match(committed[0]?.entries, [
    { status: 'FAILED', text: { subject: 'S', body: 'B' }, attemptCount: 0, address: null },
  ])
  t.equal(committed[0]?.entries[0]?.decision.failureReason, 'unresolved: it answered 500')
})

t.test('messages that are no event are handed on beside their neighbours', async (t) => {
  const { run, committed } = world({})
  await run('!', 'a', '!')
  t.same(
    committed[0]?.rejected.map(({ message }) => message.offset),
    [0n, 2n],
  )
  t.equal(committed[0]?.entries.length, 1)
})

t.test('a batch of nothing but rejected messages asks nobody', async (t) => {
  const { run, asked, committed } = world({})
  await run('!', '!')
  t.same(asked, [])
  t.equal(committed[0]?.rejected.length, 2)
})

t.test('a batch is cut before the first event whose party could not be asked for in time', async (t) => {
  const { run, committed } = world({ unasked: ['q', 'r'] })
  await run('b@p', '!', 'a@p', 'c@', 'd@q', '!', 'e@p', 'a@p', 'f@r')
  t.match(committed[0], { nextOffset: 3n, lastMessage: { offset: 3n, sha256: 'of 3' }, heldOffset: -1n })
  t.same(
    committed[0]?.entries.map(({ event }) => event.eventId),
    ['a', 'b', 'c'],
  )
  t.same(
    committed[0]?.rejected.map(({ message }) => message.offset),
    [1n],
  )
  t.same(
    committed[0]?.messagesOf('a').map(({ offset }) => offset),
    [2n],
    'what comes behind the cut is for the next batch',
  )
})

t.test('an event that is logged already needs no party: it cuts nothing', async (t) => {
  const { run, committed } = world({ unasked: ['q'], logged: ['b'] })
  await run('a@p', 'b@q', 'c@p')
  t.match(committed[0], { nextOffset: 2n, lastMessage: null })
  t.equal(committed[0]?.entries.length, 2)
})

t.test('a batch of which nothing can be committed is an error, and nothing is written', async (t) => {
  const { run, committed } = world({ unasked: ['p'] })
  await t.rejects(run('a@p', 'b@q'), { message: /not even the first party/ })
  t.equal(committed.length, 0)
})

t.test('a lost conflict starts again at the look-ups, a bounded number of times', async (t) => {
  let failures = 2
  const { run, asked } = world({
    commit: async (batch) => {
      if (failures-- > 0) throw new Error('conflict')
      return { kind: 'committed', nextOffset: batch.nextOffset, inserted: batch.entries, rejected: [] }
    },
  })
  t.match(await run('a'), { kind: 'committed' })
  t.equal(asked.length, 3)
  failures = Number.POSITIVE_INFINITY
  await t.rejects(run('a'), { message: 'conflict' })
})

t.test('any other error of the commit is passed on at once', async (t) => {
  const { run, asked } = world({
    commit: async () => {
      throw new Error('the database is gone')
    },
  })
  await t.rejects(run('a'), { message: 'the database is gone' })
  t.equal(asked.length, 1)
})
