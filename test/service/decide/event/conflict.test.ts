import t from 'tap'
import { describeConflict, findDifferences } from '../../../../src/service/decide/event/conflict.ts'
import { aLoggedRow, aParsedEvent } from '../attempt/build.ts'

const PLACE = { topic: 'claims', partition: 1, offset: 7n }
const event = aParsedEvent('a')
const { eventType, partyLocator, reference, reason } = event
const ROW = aLoggedRow('a', { eventType, partyLocator, reference, reason })

t.test('another message is a duplicate if it has the same type, party, reference and reason', async (t) => {
  t.strictSame(findDifferences(ROW, PLACE, event), [])
  for (const [name, change] of Object.entries({
    'event type': { eventType: 'claim.void' },
    party: { partyLocator: 'party-2' },
    reference: { reference: 'CLM-2' },
    reason: { reason: 'another document' },
  }))
    t.strictSame(findDifferences({ ...ROW, ...change }, PLACE, event), [name])
  t.strictSame(
    findDifferences({ ...ROW, reference: null, reason: null }, PLACE, { ...event, reason: 'x' }),
    [],
    'erased',
  )
  t.strictSame(
    findDifferences({ ...ROW, eventType: 'x', origin: PLACE }, PLACE, event),
    [],
    'the row is its own',
  )
  t.strictSame(
    findDifferences({ ...ROW, eventType: 'x', origin: null }, PLACE, event),
    [],
    'nobody knows its message',
  )
})

t.test('an event without party and reference is a conflict, and its sentence says why', async (t) => {
  const nameless = { ...event, partyLocator: null, reference: '' }
  const row = { ...ROW, partyLocator: null, reference: '' }
  const differences = findDifferences(row, PLACE, nameless)
  t.match(
    describeConflict(row, differences).error,
    /offset \d+, may be that of another event: neither has a party/,
  )
  t.match(
    describeConflict(row, findDifferences({ ...row, eventType: 'x' }, PLACE, nameless)).error,
    /has another event type$/,
  )
})
