import { pino } from 'pino'
import t from 'tap'
import type { LookUpNeeds, PartiesAgain } from '../../../src/service/attempt/look-up.ts'
import {
  createRequestLoops,
  processPage,
  type RequestNeeds,
} from '../../../src/service/attempt/request-loops.ts'
import type { RetryCandidate } from '../../../src/service/decide/attempt/retry-candidate.ts'
import { unobserved } from '../../../src/service/decide/attempt/stage.ts'
import type { Message } from '../../../src/service/decide/event/message.ts'
import type { ParseResult } from '../../../src/service/decide/event/parse-event.ts'
import { placeKey } from '../../../src/service/decide/event/position.ts'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import type { TakenRequest } from '../../../src/service/model/request/schemas.ts'
import { aMessage } from '../build.ts'
import {
  aRetryCandidate as aCandidate,
  aCandidateDecision,
  aParsedEvent,
  FOUND,
  recordingSend,
} from '../decide/attempt/build.ts'
import { aMaker, REJECTED } from './build.ts'
import { MemoryStore } from './memory-store.ts'

const UNASKED: Contact = { state: 'unresolved', error: 'it is down', costsNoAttempt: true }

/** A request for all entries over one page of candidates, none of which has a row: whatever is asked for stays unchanged. */
function aRequest(
  candidates: readonly RetryCandidate[],
  { lookUpAgain, isDown, ...overrides }: Partial<RequestNeeds & PartiesAgain> = {},
  readAgain?: true,
) {
  const memory = new MemoryStore()
  memory.addRequest({ kind: 'retry', target: { filter: { to: 'now' }, readAgain } })
  const postponed: string[] = []
  const unused = () => Promise.reject(new Error('not part of this test'))
  const needs: RequestNeeds = {
    takeRequest: async () => null,
    listRetryCandidates: async () => ({ candidates, next: null }),
    readMessages: async () => new Map(),
    listRejected: unused,
    parties: {
      lookUpAgain: lookUpAgain ?? (async (parties) => new Map(parties.map((party) => [party, FOUND]))),
      isDown: isDown ?? (() => false),
    },
    lookUps: {} as never,
    maker: aMaker(memory.connect(), recordingSend().send),
    dismissPage: unused,
    skipBatch: unused,
    releaseRequest: async () => {},
    postponeRequest: async (_, note) => void postponed.push(note),
    notePaused: async () => {},
    log: pino({ level: 'silent' }),
    ...overrides,
  }
  const taken = () => memory.requests()[0] as TakenRequest & { end: object | null }
  return { needs, taken, postponed, page: () => processPage(needs, taken()) }
}

t.test(
  'each entry of a page is counted once, with its result or the reason why it is unchanged',
  async (t) => {
    const { page, taken } = aRequest([
      aCandidate('a'),
      aCandidate('sent', { status: 'SENT' }),
      aCandidate('unexplained', { decision: null }),
    ])
    await page()
    t.match(taken(), {
      end: { state: 'done' },
      progress: {
        counts: { unchanged: 3 },
        unchanged: [
          { item: 'a', reason: 'another process has it, or changed it, or its member was erased' },
          { item: 'sent', reason: 'it was sent' },
          { item: 'unexplained', reason: 'no decision explains it' },
        ],
      },
    })
  },
)

t.test('a request goes on where its page ended, until there is no other', async (t) => {
  const next = { createdAt: '2026-01-31T12:00:00.000Z', locator: 'a' }
  const begins: (object | null)[] = []
  const { page, taken } = aRequest([], {
    listRetryCandidates: async (_, after) => {
      begins.push(after)
      return { candidates: [aCandidate('a')], next: after === null ? next : null }
    },
  })
  await page()
  t.match(taken(), { end: null, progress: { position: next } })
  await page()
  t.match(taken(), { end: { state: 'done' }, progress: { counts: { unchanged: 2 } } })
  t.strictSame(begins, [null, next])
})

t.test('a message that is read again must be the one of its entry', async (t) => {
  const map = (value: string, isNow: boolean): ParseResult => {
    const [eventId = '', party = ''] = value.split('@')
    if (isNow && party === 'none')
      return { kind: 'rejection', rejection: { code: 'event-type', error: 'no' } }
    const ids = { eventId: isNow && party === 'moved' ? `new-${eventId}` : eventId }
    return { kind: 'event', event: aParsedEvent(eventId, { ...ids, partyLocator: isNow ? party : null }) }
  }
  const messages: Readonly<Record<string, string | null | undefined>> = {
    a: 'a@p',
    gone: null,
    other: 'x@p',
    none: 'none@none',
    moved: 'moved@moved',
    sent: 'sent@p',
    failed: 'failed@p',
    late: undefined,
    last: 'last@p',
  }
  const names = Object.keys(messages)
  const states: Readonly<Record<string, Partial<RetryCandidate>>> = {
    sent: { sendCount: 1 },
    failed: { status: 'FAILED', isGivenUp: true },
  }
  const candidates = names.map((name, i) =>
    aCandidate(name, {
      partyLocator: null,
      decision: aCandidateDecision({ offset: BigInt(i) }),
      ...states[name],
    }),
  )
  const lookUps: Partial<LookUpNeeds> = {
    parserFor:
      () =>
      ({ value }) =>
        map(String(value), true),
    parseBy: (_, { value }, revision) => map(String(value), revision !== 'ghi'),
    envelopeMapRevision: 'jkl',
  }
  const asked: string[] = []
  const { page, taken } = aRequest(
    candidates,
    {
      lookUps: lookUps as LookUpNeeds,
      readMessages: async (places) => {
        const read = new Map<string, Message | null>()
        for (const { offset, ...place } of places) {
          const value = messages[names[Number(offset)] ?? '']
          if (value === undefined) continue
          read.set(placeKey({ ...place, offset }), value === null ? null : aMessage(offset, value))
        }
        return read
      },
      lookUpAgain: async (parties) => {
        asked.push(...parties)
        return new Map(parties.map((party) => [party, FOUND]))
      },
    },
    true,
  )
  await page()
  t.strictSame(asked, ['p'])
  const reasons = taken().progress.unchanged.map(({ item, reason }) => [item, reason])
  t.match(reasons, [
    ['a', 'another process has it, or changed it, or its member was erased'],
    ['gone', 'the broker has no message at its offset any more'],
    ['other', /another message is at its offset/],
    ['none', /is no event by the envelope map in force/],
    ['moved', /gives it another event id/],
    ['sent', /it was sent once/],
    ['failed', /only skipped entries/],
  ])
  t.match(
    taken(),
    { end: null, progress: { position: { locator: 'failed' } } },
    'the rest begins the next page',
  )
})

t.test('entries whose party was not asked in time begin the next page', async (t) => {
  const { page, taken } = aRequest([aCandidate('c'), aCandidate('b'), aCandidate('a')], {
    lookUpAgain: async ([first = '']) => new Map([[first, FOUND]]),
  })
  await page()
  t.match(taken(), { end: null, progress: { position: { locator: 'c' }, counts: { unchanged: 1 } } })
})

t.test('while policy administration is down, a request waits where it is and says why', async (t) => {
  const { page, taken, postponed } = aRequest([aCandidate('a')], { isDown: () => true })
  await page()
  t.match(postponed, [/paused: policy administration is down/])
  t.match(taken(), { end: null, progress: { position: null, counts: {} } })
})

t.test('entries that were not asked because it went down in between begin the next page', async (t) => {
  let isDown = false
  const { page, taken, postponed } = aRequest([aCandidate('b'), aCandidate('a')], {
    isDown: () => isDown,
    lookUpAgain: async () => {
      isDown = true
      return new Map([
        ['b', FOUND],
        ['a', UNASKED],
      ])
    },
  })
  await page()
  t.match(taken(), { end: null, progress: { position: { locator: 'b' }, counts: { unchanged: 1 } } })
  await page()
  t.equal(postponed.length, 1)
})

t.test('an entry whose party alone cannot be asked is left unchanged, and holds up no other', async (t) => {
  const { page, taken } = aRequest([aCandidate('a')], {
    lookUpAgain: async () => new Map([['a', UNASKED]]),
  })
  await page()
  t.match(taken(), {
    end: { state: 'done' },
    progress: { unchanged: [{ item: 'a', reason: 'policy administration could not be asked' }] },
  })
})

t.test('a redrive waits while policy administration is down', async (t) => {
  let isDown = false
  const { needs, taken, postponed } = aRequest([], {
    isDown: () => isDown,
    listRejected: async () => ({ messages: [{ ...REJECTED, id: 1n, message: aMessage() }], next: 1n }),
    lookUps: {
      parserFor: () => () => ({ kind: 'event', event: aParsedEvent('a') }),
      findLogged: async () => ({ rows: new Map(), pruned: [] }),
      lookUpContacts: async (parties: readonly string[]) => {
        isDown = true
        return new Map(parties.map((party) => [party, UNASKED]))
      },
      newLocator: () => 'NTF-1',
      stage: unobserved,
    } as unknown as LookUpNeeds,
    maker: aMaker(
      {
        transaction: () => Promise.reject(new Error('an attempt is made')),
        refusesData: () => false,
        isWorthRestart: () => false,
        readHolds: async () => [],
      },
      recordingSend().send,
    ),
  })
  const request = { ...taken(), kind: 'redrive', target: { filter: { upTo: '9' } } } as TakenRequest
  t.equal(await processPage(needs, request), false)
  t.equal(postponed.length, 1)
})

t.test('a page that fails is tried again later, and others go on beside it', async (t) => {
  const failing = aRequest([])
  const open = [1, 2].map((number) => ({ ...failing.taken(), id: String(number) }))
  const served: string[] = []
  const done = Promise.withResolvers<void>()
  const { needs, postponed } = aRequest([], {
    takeRequest: async () => open.shift() ?? null,
    listRetryCandidates: async () => {
      served.push('page')
      throw new Error('the connection is lost')
    },
    postponeRequest: async (id, note) => {
      postponed.push(`${id} ${note}`)
      if (postponed.length === 2) done.resolve()
    },
    maker: aMaker(new MemoryStore().connect(), recordingSend().send, undefined, {
      sleep: (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    }),
  })
  const requests = createRequestLoops(needs)
  requests.start()
  await done.promise
  await requests.stop()
  t.strictSame(postponed.toSorted(), [
    '1 tries again: the connection is lost',
    '2 tries again: the connection is lost',
  ])
})

t.test('an outage that is found out only now costs no attempt', async (t) => {
  let isDown = false
  const failed: Contact = { state: 'unresolved', error: 'HTTP 503', costsNoAttempt: false }
  const { page, taken, postponed } = aRequest([aCandidate('b'), aCandidate('a')], {
    isDown: () => isDown,
    lookUpAgain: async (parties) => {
      isDown = true
      return new Map(parties.map((party) => [party, failed]))
    },
  })
  await page()
  t.equal(postponed.length, 1)
  t.match(taken(), { end: null, progress: { position: null, counts: {} } })
})
