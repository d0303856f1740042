import t from 'tap'
import { findDifferences } from '../../../src/core/event/conflict.ts'
import { aLoggedRow, aParsedEvent } from '../attempt/build.ts'

const PLACE = { topic: 'claims', partition: 1, offset: 7n }
const event = aParsedEvent('a')
const { eventType, partyLocator, locator: reference, reason } = event
const ROW = aLoggedRow('a', { eventType, partyLocator, reference, reason })

t.test('another message is a duplicate if it has the same type, party, reference and reason', async (t) => {
  t.same(findDifferences(ROW, PLACE, event), [])
  for (const [name, change] of Object.entries({
    'event type': { eventType: 'claim.void' },
    party: { partyLocator: 'party-2' },
    reference: { reference: 'CLM-2' },
    reason: { reason: 'another document' },
  }))
    t.same(findDifferences({ ...ROW, ...change }, PLACE, event), [name])
  t.same(
    findDifferences({ ...ROW, reference: null, reason: null }, PLACE, { ...event, reason: 'x' }),
    [],
    'erased',
  )
  t.same(findDifferences({ ...ROW, eventType: 'x', origin: PLACE }, PLACE, event), [], 'the row is its own')
  t.same(
    findDifferences({ ...ROW, eventType: 'x', origin: null }, PLACE, event),
    [],
    'nobody knows its message',
  )
})
