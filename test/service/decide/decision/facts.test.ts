import t from 'tap'
import { readFacts } from '../../../../src/service/decide/decision/decide.ts'
import { readOptOuts } from '../../../../src/service/decide/party/preferences.ts'
import { aFound, OPTED_OUT, someFacts, somePreferences } from '../../build.ts'

const aSubject = (eventType: string) => ({ eventType, partyLocator: 'party-1', stated: {} })
const preferences = { ...OPTED_OUT, preferredChannel: 'SMS' } as const

t.test('facts are read from contact and preferences', async (t) => {
  const found = aFound({ email: null, phone: '1' })
  t.match(readFacts(aSubject('claim.paid'), found, preferences), {
    eventType: 'claim.paid',
    party: 'found',
    optedOut: true,
    preferredChannel: 'SMS',
    emailOnFile: false,
    phoneOnFile: true,
  })
  t.match(readFacts(aSubject('claim.void'), aFound(), undefined), {
    optedOut: false,
    preferredChannel: 'EMAIL',
    emailOnFile: true,
    phoneOnFile: false,
  })
})

t.test('only preferences are known of a party that is not found, and nothing without a party', async (t) => {
  const unresolved = { state: 'unresolved', error: 'HTTP 500', costsNoAttempt: false } as const
  for (const contact of [unresolved, { state: 'not found' } as const]) {
    t.strictSame(
      readFacts(aSubject('claim.paid'), contact, preferences),
      someFacts({ party: contact.state, optedOut: true, preferredChannel: 'SMS' }),
    )
  }
  const nobody = { ...aSubject('claim.paid'), partyLocator: null, stated: { invalidLocator: true } }
  const missing = someFacts({ party: 'missing' })
  t.strictSame(readFacts(nobody, undefined, preferences), { ...missing, invalidLocator: true })
  t.throws(
    () => readFacts(aSubject('claim.paid'), undefined, undefined),
    /no contact was looked up for party-1/,
  )
})

t.test('opt-outs that only another version can read may be for any event type', async (t) => {
  for (const stored of [null, { claims: true }, ['claim.paid', 'claim.*'], ['claim.paid', 7]])
    t.match(readOptOuts(stored), { hasUnreadableOptOuts: true }, JSON.stringify(stored))
  t.strictSame(readOptOuts(['claim.paid']), {
    optedOutEvents: new Set(['claim.paid']),
    hasUnreadableOptOuts: false,
  })
  const unreadable = somePreferences(readOptOuts(['claim.paid', 'claim.*']))
  t.match(readFacts(aSubject('claim.paid'), aFound(), unreadable), { optedOut: true })
  t.match(readFacts(aSubject('claim.void'), aFound(), unreadable), { optedOut: 'unreadable' })
})

t.test('an opt-out matches an event type whatever the capitals and outer spaces of either', async (t) => {
  for (const [optOut, eventType] of [
    ['Claim.Paid', 'claim.paid'],
    ['claim.paid ', 'claim.paid'],
    ['\t\u00a0CLAIM.PAID\n', 'claim.paid'],
    ['claim.paid', 'Claim.Paid'],
    ['claim.paid', ' claim.paid'],
    ['ÄNDERUNG', 'änderung'],
  ] as const)
    t.match(
      readFacts(aSubject(eventType), aFound(), somePreferences(readOptOuts([optOut]))),
      { optedOut: true },
      JSON.stringify([optOut, eventType]),
    )
  const other = somePreferences(readOptOuts(['claim. paid', 'claim-paid']))
  t.match(readFacts(aSubject('claim.paid'), aFound(), other), { optedOut: false })
  t.match(readOptOuts([' not claim.paid ']), { hasUnreadableOptOuts: true })
})
