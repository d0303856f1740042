import t from 'tap'
import {
  decideNow,
  decideRecorded,
  UNKNOWN_CHANNEL_RULE_ID,
  UNREADABLE_OPT_OUTS_RULE_ID,
} from '../../../src/core/decision/decide-recorded.ts'
import { someFacts } from '../build.ts'
import { above, DEFAULT_ROWS, tableOf } from '../rules/default-table.ts'

const { decide } = await tableOf(DEFAULT_ROWS)
const PUSH = { ...someFacts(), preferredChannel: 'PUSH' }

t.test('an unknown channel fails the event where the rules depend on the channel', async (t) => {
  const failed = { ruleId: UNKNOWN_CHANNEL_RULE_ID, outcome: 'FAIL', channel: 'PUSH' }
  t.match(decideNow(decide, PUSH), { ...failed, reason: /^preferred channel unknown: PUSH / })
  t.match(
    decideNow(decide, { ...PUSH, emailOnFile: false, phoneOnFile: false }),
    failed,
    'it may need no address',
  )
  t.equal(decideRecorded(decide, PUSH), null)
})

t.test('rules that decide alike for all channels decide for an unknown one', async (t) => {
  const skipped = (reason: string) => ({ outcome: 'SKIP', channel: 'PUSH', reason })
  t.match(decideNow(decide, { ...PUSH, optedOut: true }), skipped('event type opted out'))
  t.match(decideNow(decide, { ...PUSH, party: 'not found' }), skipped('party not found'))
  t.match(decideNow(decide, { ...PUSH, party: 'unresolved' }), {
    ruleId: 'unresolved',
    outcome: 'FAIL',
    channel: 'PUSH',
  })
  const always = await tableOf(
    above('no-email', 'by-sms,claim.*,found,,,,yes,SEND,SMS,,"Whatever they prefer."'),
  )
  t.match(decideNow(always.decide, PUSH), { ruleId: 'by-sms', outcome: 'SEND', channel: 'SMS' })
  const preferred = await tableOf(
    above('no-email', 'preferred,claim.paid,found,no,,yes,yes,SEND,,,"Each channel has its address."'),
  )
  t.match(decideNow(preferred.decide, PUSH), { outcome: 'FAIL' }, 'nothing is sent by an unknown channel')
})

t.test('opt-outs that cannot be read never lead to a send by rules that heed them', async (t) => {
  const unreadable = { ...someFacts(), optedOut: 'unreadable' }
  const failed = { ruleId: UNREADABLE_OPT_OUTS_RULE_ID, outcome: 'FAIL', reason: /^opt-outs unreadable: / }
  t.match(decideNow(decide, unreadable), { ...failed, channel: 'EMAIL' })
  t.match(decideNow(decide, { ...unreadable, preferredChannel: 'PUSH' }), { ...failed, channel: 'PUSH' })
  t.match(decideNow(decide, { ...unreadable, party: 'not found' }), {
    outcome: 'SKIP',
    ruleId: 'party-not-found',
  })
  const critical = await tableOf(
    above('opted-out', 'critical,claim.*,found,,,yes,,SEND,EMAIL,,"Everyone is told."'),
  )
  t.match(decideNow(critical.decide, unreadable), { outcome: 'SEND', ruleId: 'critical' })
})

t.test('other unknown values are decided only where they make no difference', async (t) => {
  t.equal(decideRecorded(decide, { ...someFacts(), party: 'deceased' }), null)
  t.equal(decideRecorded(decide, { ...someFacts(), emailOnFile: 'in part' }), null)
  t.match(decideRecorded(decide, { ...someFacts(), phoneOnFile: 'in part', urgent: true }), {
    ruleId: 'email',
  })
  t.match(decideRecorded(decide, { ...PUSH, optedOut: true, emailOnFile: 1 }), {
    ruleId: 'opted-out',
    channel: 'PUSH',
  })
  t.equal(decideRecorded(decide, { eventType: 'claim.paid' }), null)
})
