import t from 'tap'
import {
  describeCounts,
  describeResults,
  describeWanted,
  groupUnchanged,
} from '../../../src/operations/requests/describe-request.ts'
import { addResults } from '../../../src/service/model/request/request.ts'
import type { StoredRequest } from '../../../src/service/model/request/schemas.ts'

const REQUEST: StoredRequest = {
  ...{ id: '1', kind: 'retry', target: {}, by: 'alice', because: 'x', state: 'done' },
  ...{ requestedAt: '2026-01-31T12:34:56.789000Z', endedAt: null, counts: {}, unchanged: [], note: null },
}
const FILTER = {
  partyLocator: 'PTY-1',
  from: '2026-01-31T12:34:56.789Z',
  eventType: undefined,
  to: '2026-02-01T00:00:00.000Z',
}

for (const [kind, target, words] of [
  ['retry', { locators: ['NTF-1'] }, 'retry of log entry NTF-1'],
  ['retry', { filter: {} }, 'retry of all log entries not told'],
  [
    'retry',
    { filter: FILTER },
    'retry of all log entries not told (member PTY-1, from 2026-01-31 12:34 UTC, before 2026-02-01 00:00 UTC)',
  ],
  [
    'retry',
    { locators: ['NTF-1', 'NTF-2'], readAgain: true },
    'retry of 2 log entries, with their messages read again',
  ],
  ['redrive', { ids: ['7'] }, 'redrive of unreadable message 7'],
  [
    'redrive',
    { filter: { code: 'not-json', upTo: '9' } },
    'redrive of all open unreadable messages (code not-json)',
  ],
  [
    'redrive',
    { filter: { since: '2026-01-31T12:34:56.789Z', before: '2026-02-01T00:00:00.000Z', upTo: '9' } },
    'redrive of all open unreadable messages (from 2026-01-31 12:34 UTC, before 2026-02-01 00:00 UTC)',
  ],
  ['dismiss', { ids: ['7', '8'] }, 'dismissal of 2 unreadable messages'],
  [
    'skip',
    { topic: 'claims', partition: 3, offset: '1207' },
    'skip of the unreadable record batch at offset 1207 of claims/3',
  ],
  ['retry', {}, 'retry of all log entries not told'],
  ['a later kind', { locators: ['NTF-1'] }, 'a later kind'],
] as const) {
  t.test(`${kind} of ${JSON.stringify(target)}`, async (t) => {
    t.equal(describeWanted({ kind, target }), words)
  })
}

t.test('a request that is done and has no results says that nothing fits', async (t) => {
  const results = (change: Partial<StoredRequest>) =>
    describeResults({ ...REQUEST, target: { filter: {} }, counts: {}, ...change })
  t.equal(results({}), 'nothing fits its filter')
  t.equal(results({ counts: { SENT: 1 } }), '1 sent')
  t.equal(results({ state: 'running' }), '')
  t.equal(results({ target: {} }), '', 'a hold')
})

t.test('items that stay unchanged are grouped by their reasons, and each is counted', async (t) => {
  const items = Array.from({ length: 500 }, (_, i) => [String(i), { reason: 'still rejected' }] as const)
  const first = addResults({ position: null, counts: {}, unchanged: [] }, null, items)
  const { counts, unchanged } = addResults(first, null, [['500', { reason: 'it was erased' }], ...items])
  t.equal(counts.unchanged, 1_001)
  t.match(groupUnchanged(unchanged), [
    { reason: 'still rejected', count: 1_000, items: ['0', '1', '2'] },
    { reason: 'it was erased', count: 1, items: ['500'] },
  ])
  t.equal(unchanged.length, 11)
})

t.test('counts are told in words, an unknown result by its name', async (t) => {
  t.equal(describeCounts({ SENT: 40, unchanged: 2, postponed: 1 }), '40 sent, 2 left unchanged, 1 postponed')
  t.equal(describeCounts({}), '')
})
