import t from 'tap'
import { searchLog } from '../../../src/operations/log/search-log.ts'
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
  { eventId: 'own', partyLocator: 'about-itself', reference: 'about-itself' },
  { eventId: 'accent', partyLocator: 'Émile_%', reference: 'x'.repeat(3_000) },
])
await client.query(
  `INSERT INTO notifications.notification_preferences (party_locator, opted_out_events, preferred_channel) VALUES ('silent', '[]', 'EMAIL')`,
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
  for (const [name, kind] of Object.entries(NAMES)) t.same((await search(name)).hits, [`${kind} ${name}`])
})

t.test(
  'a name that is nearly right is offered: another spelling, a beginning, the last digits',
  async (t) => {
    const OFFERS = {
      'PARTY-0036': 'member party-0036',
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
      'CLA-00056': 'reference CLA-2026-00056',
      'cla 56': 'reference CLA-2026-00056',
      '56': 'reference POL-2026-00256',
      'POL-56': 'reference POL-2026-00756',
      'pol 256': 'reference POL-2026-00256',
      '36': 'member party-0036',
    }
    for (const [text, offer] of Object.entries(OFFERS)) {
      const { hits, similar } = await search(text)
      t.same(hits, [], text)
      t.ok(similar.includes(offer), `${text}: ${similar}`)
    }
  },
)

t.test('of many numbers with the same last digits the highest eight of a kind are offered', async (t) => {
  t.same(
    (await search('7')).similar.slice(0, 2),
    ['member party-0037'],
    'one digit of five has too many numbers',
  )
  t.same((await search('pol-56')).similar, ['reference POL-2026-00756', 'reference POL-2026-00256'])
})

t.test('no more than eight continuations of a beginning are offered, each once', async (t) => {
  const { similar } = await search('party-00')
  t.same(
    similar,
    parties.slice(0, 8).map((party) => `member ${party}`),
  )
  for (const text of ['nothing', 'party-00%', '_____-00', 'zzz']) t.same((await search(text)).similar, [])
})

t.test('the event types of the log are listed with the time of their newest entry', async (t) => {
  await client.query(
    `UPDATE notifications.notification_log SET event_type = 'old', created_at = '2020-01-31T12:00:00Z' WHERE event_id = 'own'`,
  )
  const found = await listEventTypes(pool)
  t.same(found[1], { eventType: 'old', lastAt: '2020-01-31T12:00:00.000000Z' })
  t.match(found[0], { eventType: 'claim.paid', lastAt: /^20.*Z$/ })
  t.equal(found.length, 2)
})
