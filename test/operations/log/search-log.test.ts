import t from 'tap'
import { ENDING_COUNT_MAX, searchLog } from '../../../src/operations/log/search-log.ts'
import { listEventTypes } from '../../../src/service/store/read/event-types.ts'
import { openDatabase } from '../../service/store/fixtures.ts'
import { record } from '../../service/store/record.ts'

const { pool, client } = await openDatabase(t)
const KNOWN = {
  eventTypes: ['claim.paid', 'claim.rejected', 'invoice.paid'],
  reasons: ['event type opted out', 'no email on file'],
}
const parties = Array.from({ length: 12 }, (_, i) => `party-00${30 + i}`)
const [locator = ''] = await record(pool, [
  { eventId: 'event-1', partyLocator: 'party-0030', reference: 'CLA-2026-00056' },
  ...parties.map((partyLocator, i) => ({
    eventId: `about-${i}`,
    partyLocator,
    reference: `CLA-2026-000${60 + i}`,
  })),
  ...[256, 756, 57].map((number) => ({
    eventId: `policy-${number}`,
    partyLocator: 'party-0030',
    reference: `POL-2026-${String(number).padStart(5, '0')}`,
  })),
  ...[
    'POL-2026-256',
    'GB 44 1433 7091',
    'KFZ 77 4711 B',
    '2026/09/004217',
    '123456789012345678990000000042',
    'NL–17–4',
  ].map((reference) => ({ eventId: reference, partyLocator: 'party-0030', reference })),
  { eventId: 'own', partyLocator: 'about-itself', reference: 'about-itself' },
  { eventId: 'accent', partyLocator: 'Émile_%', reference: 'x'.repeat(3_000) },
])
await client.query(
  `INSERT INTO notifications.notification_preferences (party_locator, opted_out_events, preferred_channel) VALUES ('silent', '[]', 'EMAIL'), ('party-0036', '[]', 'EMAIL')`,
)
const search = async (text: string) => {
  const { hits, similar } = await searchLog(pool, text, KNOWN)
  const words = (found: typeof hits) => found.map(({ kind, value }) => `${kind} ${value}`)
  return { hits: words(hits), similar: words(similar) }
}

t.test('an exact name is found, as each thing that it names', async (t) => {
  const NAMES = {
    [locator]: 'entry',
    'event-1': 'event',
    'party-0030': 'member',
    'CLA-2026-00056': 'reference',
    'claim.paid': 'event type',
    'no email on file': 'reason',
    silent: 'member',
    'about-itself': 'member',
    'Émile_%': 'member',
    ['x'.repeat(3_000)]: 'reference',
  }
  for (const [name, kind] of Object.entries(NAMES))
    t.strictSame((await search(name)).hits, [`${kind} ${name}`])
})

t.test(
  'a name that is nearly right is offered: another spelling, a beginning, the last digits',
  async (t) => {
    const OFFERS = {
      'PARTY-0036': 'member party-0036',
      'PARTY-0037': 'member party-0037',
      '0036': 'member party-0036',
      ' party-0036 ': 'member party-0036',
      '00056': 'reference CLA-2026-00056',
      'cla-2026-00056': 'reference CLA-2026-00056',
      'CLA-2026-0005': 'reference CLA-2026-00056',
      Claim: 'event type claim.rejected',
      rejected: 'event type claim.rejected',
      Émile: 'member Émile_%',
      'Claim Rejected': 'event type claim.rejected',
      claim_rejected: 'event type claim.rejected',
      'REJECTED-claim': 'event type claim.rejected',
      ClaimRejected: 'event type claim.rejected',
      'claim.rejcted': 'event type claim.rejected',
      'opted out': 'reason event type opted out',
      'Opted-Out': 'reason event type opted out',
      cla202600056: 'reference CLA-2026-00056',
      '202600056': 'reference CLA-2026-00056',
      '56': 'reference POL-2026-00256',
      '2026-00756': 'reference POL-2026-00756',
      ' pol 2026 256': 'reference POL-2026-256',
      '36': 'member party-0036',
      ent: 'member silent',
      '7091': 'reference GB 44 1433 7091',
      '14337091': 'reference GB 44 1433 7091',
      'GB-44-1433-7091': 'reference GB 44 1433 7091',
      'GB\u00a044\u00a01433\u00a07091': 'reference GB 44 1433 7091',
      'CLA–2026–00056': 'reference CLA-2026-00056',
      'cla\u20112026\u201100056': 'reference CLA-2026-00056',
      '2026 − 00756': 'reference POL-2026-00756',
      'CLA–2026–0005': 'reference CLA-2026-00056',
      'PARTY–0036': 'member party-0036',
      '4711–b': 'reference KFZ 77 4711 B',
      '17–4': 'reference NL–17–4',
      'NL–1': 'reference NL–17–4',
      '4711b': 'reference KFZ 77 4711 B',
      '42/17': 'reference 2026/09/004217',
      '990000000042': 'reference 123456789012345678990000000042',
    }
    for (const [text, offer] of Object.entries(OFFERS)) {
      const { hits, similar } = await search(text)
      t.strictSame(hits, [], text)
      t.ok(similar.includes(offer), `${text}: ${similar}`)
    }
  },
)

t.test(
  'what ends so is listed newest first, counted, and independent of what was logged lately',
  async (t) => {
    const references = Array.from({ length: 25 }, (_, i) => `LATE/${String(i).padStart(2, '0')}-4091`)
    await record(
      pool,
      references.map((reference) => ({ eventId: `of ${reference}`, partyLocator: 'party-0030', reference })),
    )
    const others = Array.from({ length: ENDING_COUNT_MAX + 1 }, (_, i) => ({
      eventId: `longer-${i}`,
      partyLocator: 'party-0030',
      reference: `${1_000_000 + i}-Q`,
    }))
    await record(pool, others)
    const { similar, endings } = await searchLog(pool, '4091', KNOWN)
    t.strictSame(
      similar.map(({ value }) => value),
      references.toReversed().slice(0, 20),
    )
    t.strictSame(endings, [{ kind: 'reference', count: 25, isMore: false }])
    t.strictSame(await searchLog(pool, 'q', KNOWN), {
      hits: [],
      similar: [],
      beginnings: [],
      endings: [{ kind: 'reference', count: ENDING_COUNT_MAX, isMore: true }],
    })
    const { similar: whole } = await searchLog(pool, '1000007 q', KNOWN)
    t.match(whole, [{ value: '1000007-Q', locator: /^NTF-/ }], 'another spelling of its only entry')
    t.strictSame((await search('00056')).similar[0], 'reference CLA-2026-00056', 'no longer number hides it')
  },
)

t.test('names that differ in their separators are both offered', async (t) => {
  await record(pool, [
    { eventId: 'spelled-1', partyLocator: 'party-0030', reference: 'AB 1-2' },
    { eventId: 'spelled-2', partyLocator: 'party-0030', reference: 'AB-12' },
  ])
  t.strictSame((await search('ab12')).similar.sort(), ['reference AB 1-2', 'reference AB-12'])
})

t.test(
  'no more than eight continuations of a beginning are offered, each once, and said to be some',
  async (t) => {
    const { similar } = await search('party-00')
    const beginnings = async (text: string) => (await searchLog(pool, text, KNOWN)).beginnings
    t.strictSame(await beginnings('party-00'), ['member'])
    t.strictSame(await beginnings('CLA-2026-'), ['reference'])
    for (const text of ['party-003', ' party-00 ']) t.strictSame(await beginnings(text), ['member'], text)
    t.strictSame(await beginnings('party-004'), [], 'both are listed')
    t.strictSame(
      similar,
      parties.slice(0, 8).map((party) => `member ${party}`),
    )
    for (const text of ['nothing', 'party-00%', '_____-00', 'zzz'])
      t.strictSame((await search(text)).similar, [])
  },
)

t.test('the event types of the log are listed with the time of their newest entry', async (t) => {
  await client.query(
    `UPDATE notifications.notification_log SET event_type = 'old', created_at = '2020-01-31T12:00:00Z' WHERE event_id = 'own'`,
  )
  const found = await listEventTypes(pool)
  t.strictSame(found[1], { eventType: 'old', lastAt: '2020-01-31T12:00:00.000000Z' })
  t.match(found[0], { eventType: 'claim.paid', lastAt: /^20.*Z$/ })
  t.equal(found.length, 2)
})
