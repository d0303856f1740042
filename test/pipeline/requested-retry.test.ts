import t from 'tap'
import type { RetryCandidate } from '../../src/core/attempt/retry-candidate.ts'
import type { LogPosition } from '../../src/core/log/log-page.ts'
import type { Contact } from '../../src/core/party/contact.ts'
import {
  type RequestedResult,
  type RequestNeeds,
  retryOnRequest,
} from '../../src/pipeline/requested-retry.ts'
import { aRetryCandidate as aCandidate, decideRetries, FOUND } from '../core/attempt/build.ts'

/** Runs over pages of candidates, all of which can be sent unless told otherwise. */
async function run(pages: RetryCandidate[][], overrides: Partial<RequestNeeds> = {}) {
  const reported: [string, RequestedResult][] = []
  const committed: string[] = []
  const commit: RequestNeeds['commit'] = async (asked) => {
    const made = decideRetries(asked)
    committed.push(...made.map(({ locator }) => locator))
    return { made, refused: new Map(), deferred: new Map() }
  }
  const stop = await retryOnRequest({
    listCandidates: async (after) => {
      const page = Number((after as LogPosition | null)?.locator ?? 0)
      const next = page + 1 < pages.length ? { createdAt: '', locator: String(page + 1) } : null
      return { candidates: pages[page] ?? [], next }
    },
    lookUpContacts: async (parties) => new Map(parties.map((party) => [party, FOUND])),
    isDown: () => false,
    commit,
    report: (...result) => reported.push(result),
    ...overrides,
  })
  return { stop, reported: Object.fromEntries(reported), reportCount: reported.length, committed }
}

const SENT = { result: 'SENT', channel: 'EMAIL', ruleId: 'send', reason: null }

t.test('every row is reported once, with its result or the reason why it is unchanged', async (t) => {
  const pages = [
    [aCandidate('a'), aCandidate('sent', { status: 'SENT' })],
    [],
    [aCandidate('unexplained', { decision: null }), aCandidate('b')],
  ]
  t.match(await run(pages), {
    stop: null,
    committed: ['a', 'b'],
    reportCount: 4,
    reported: {
      a: SENT,
      b: SENT,
      sent: { result: 'refused', error: 'it was sent' },
      unexplained: { result: 'refused', error: 'no decision explains it' },
    },
  })
})

t.test(
  'a row that another process has, the database refuses or the sender defers is unchanged',
  async (t) => {
    const commit: RequestNeeds['commit'] = async () => ({
      made: [],
      refused: new Map([['b', 'too long']]),
      deferred: new Map([['c', 'EMAIL deferred: quota']]),
    })
    t.match(await run([[aCandidate('a'), aCandidate('b'), aCandidate('c')]], { commit }), {
      stop: null,
      reported: {
        a: { result: 'refused', error: 'another process has it, or changed it' },
        b: { result: 'refused', error: 'the database refused it: too long' },
        c: { result: 'refused', error: 'EMAIL deferred: quota' },
      },
    })
  },
)

t.test('a page that cannot be committed does not stop the others, and is reported', async (t) => {
  const failing: RequestNeeds['commit'] = async (asked) => {
    if (asked.some(({ due }) => due.locator === 'a')) throw new Error('the connection is lost')
    return { made: [], refused: new Map(), deferred: new Map() }
  }
  t.match(await run([[aCandidate('a')], [aCandidate('b')]], { commit: failing }), {
    stop: 'rows could not be committed, or their commit was not confirmed (see `why`): the connection is lost',
    reported: {
      a: { result: 'refused', error: /the connection is lost/ },
      b: { result: 'refused', error: /another process/ },
    },
  })
})

t.test('once policy administration is down, the rest is left for another run', async (t) => {
  const unasked: Contact = { state: 'unresolved', error: 'it is down', costsNoAttempt: true }
  const { stop, reported, committed } = await run([[aCandidate('a')], [aCandidate('b')]], {
    lookUpContacts: async (parties) => new Map(parties.map((party) => [party, unasked])),
    isDown: () => true,
  })
  t.match(stop, /policy administration could not be asked for all of them; the rest was not looked at/)
  t.match(reported, { a: { result: 'refused', error: /policy administration/ } })
  t.notOk('b' in reported, 'it is not even read')
  t.same(committed, [])
})

t.test('pages left out because policy administration went down during a commit are reported', async (t) => {
  let isDown = false
  const { stop, reported } = await run([[aCandidate('a')], [aCandidate('b')]], {
    commit: async (asked) => {
      isDown = true
      return { made: decideRetries(asked), refused: new Map(), deferred: new Map() }
    },
    isDown: () => isDown,
  })
  t.match(stop, /^policy administration went down; the rest was not looked at$/)
  t.match(reported, { a: SENT })
  t.notOk('b' in reported)
})
