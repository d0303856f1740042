import t from 'tap'
import { anEvent, aWorld } from '../stack/world.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

const ADDRESS = { email: 'someone@example.com', phone: null }

/** Each in the URL as one segment of the path, whatever it looks like. */
const ASKED: [partyLocator: string, segment: string][] = [
  ['a/b', 'a%2Fb'],
  ['a%2Fb', 'a%252Fb'],
  ['../preferences/a', '..%2Fpreferences%2Fa'],
  ['..\\a', '..%5Ca'],
  ['...', '...'],
  ['%2e%2e', '%252e%252e'],
  ['?x', '%3Fx'],
  ['#', '%23'],
  ['a b', 'a%20b'],
  ['a+b', 'a%2Bb'],
  ['a;b:c@d', 'a%3Bb%3Ac%40d'],
  ['//example.com', '%2F%2Fexample.com'],
  ['a\r\nHost: b', 'a%0D%0AHost%3A%20b'],
  ['Zoë-😀', 'Zo%C3%AB-%F0%9F%98%80'],
  ['__proto__', '__proto__'],
]
/** No URL can carry these as a segment of its path. */
const NEVER_ASKED = ['.', '..', '']

const world = await aWorld(t, { partitionCount: 1 })
for (const [partyLocator] of ASKED) world.policyAdministration.set(partyLocator, ADDRESS)
await world.serve()
const asked = ASKED.map(([partyLocator]) => anEvent({ partyLocator }))
const neverAsked = NEVER_ASKED.map((partyLocator) => anEvent({ partyLocator }))
await world.publish([...asked, ...neverAsked])
await world.caughtUp()
const log = await rowsOf(world, 'notification_log')

t.test('a party locator is one segment of the path of one request', async (t) => {
  t.strictSame(
    world.policyAdministration.requests.paths.toSorted(),
    ASKED.map(([, segment]) => `/internal/parties/${segment}`).toSorted(),
  )
})

t.test('it is understood there and stored as it came', async (t) => {
  for (const [i, event] of asked.entries()) {
    const row = onlyRowOf(log, event)
    t.equal(row.party_locator, ASKED[i]?.[0])
    t.equal(row.status, 'SENT', row.failure_reason)
  }
})

t.test('a party locator that no path can carry is skipped', async (t) => {
  for (const event of neverAsked) t.equal(onlyRowOf(log, event).failure_reason, 'invalid party locator')
})
