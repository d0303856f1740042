import t from 'tap'
import {
  decideOrFail,
  decideRecorded,
  UNKNOWN_CHANNEL_RULE_ID,
  UNKNOWN_FACT_RULE_ID,
  UNREADABLE_OPT_OUTS_RULE_ID,
} from '../../../../src/service/decide/decision/decide.ts'
import { ADDRESSES } from '../../../../src/service/decide/party/channel.ts'
import { above, rule } from '../../../authoring/build.ts'
import { createTable, DEFAULT_TABLE } from '../../../authoring/default-table.ts'
import { someFacts } from '../../build.ts'

const { decide } = await createTable(DEFAULT_TABLE)
const ALL_ON_FILE = Object.fromEntries(ADDRESSES.map((address) => [`${address}OnFile`, true]))
const PIGEON = { ...someFacts(), preferredChannel: 'PIGEON' }

t.test('an unknown channel fails the event where the rules depend on the channel', async (t) => {
  const failed = { ruleId: UNKNOWN_CHANNEL_RULE_ID, outcome: 'FAIL', channel: 'PIGEON' }
  t.match(decideOrFail(decide, PIGEON), { ...failed, reason: /^preferred channel unknown: PIGEON / })
  t.match(
    decideOrFail(decide, { ...PIGEON, emailOnFile: false, phoneOnFile: false }),
    failed,
    'it may need no address',
  )
  t.equal(decideRecorded(decide, PIGEON), null)
})

t.test('rules that decide alike for all channels decide for an unknown one', async (t) => {
  const skipped = (reason: string) => ({ outcome: 'SKIP', channel: 'PIGEON', reason })
  t.match(decideOrFail(decide, { ...PIGEON, optedOut: true }), skipped('event type opted out'))
  t.match(decideOrFail(decide, { ...PIGEON, party: 'not found' }), skipped('party not found'))
  t.match(decideOrFail(decide, { ...PIGEON, party: 'unresolved' }), {
    ruleId: 'unresolved',
    outcome: 'FAIL',
    channel: 'PIGEON',
  })
  const send = { party: 'found', outcome: 'SEND', ...ALL_ON_FILE }
  const always = await createTable(above('no-email', [rule({ ...send, sendBy: 'SMS' })]))
  t.match(decideOrFail(always.decide, PIGEON), { ruleId: 'a', outcome: 'SEND', channel: 'SMS' })
  const preferred = await createTable(above('no-email', [rule(send)]))
  t.match(
    decideOrFail(preferred.decide, PIGEON),
    { outcome: 'FAIL' },
    'nothing is sent by an unknown channel',
  )
})

t.test('opt-outs that cannot be read never lead to a send by rules that heed them', async (t) => {
  const unreadable = { ...someFacts(), optedOut: 'unreadable' }
  const failed = { ruleId: UNREADABLE_OPT_OUTS_RULE_ID, outcome: 'FAIL', reason: /^opt-outs unreadable: / }
  t.match(decideOrFail(decide, unreadable), { ...failed, channel: 'EMAIL' })
  t.match(decideOrFail(decide, { ...unreadable, preferredChannel: 'PIGEON' }), {
    ...failed,
    channel: 'PIGEON',
  })
  t.match(decideOrFail(decide, { ...unreadable, party: 'not found' }), {
    outcome: 'SKIP',
    ruleId: 'party-not-found',
  })
  const send = { outcome: 'SEND', sendBy: 'EMAIL' }
  const critical = rule({ eventType: 'claim.*', party: 'found', emailOnFile: true, ...send })
  const { decide: decideCritical } = await createTable(above('opted-out', [critical]))
  t.match(decideOrFail(decideCritical, unreadable), { outcome: 'SEND', ruleId: 'a' })
})

t.test('other unknown values are decided only where they make no difference', async (t) => {
  t.equal(decideRecorded(decide, { ...someFacts(), party: 'deceased' }), null)
  const inPart = { ...someFacts(), emailOnFile: 'in part' }
  t.equal(decideRecorded(decide, inPart), null)
  t.match(decideOrFail(decide, inPart), {
    ...{ outcome: 'FAIL', ruleId: UNKNOWN_FACT_RULE_ID },
    reason: 'email on file unknown: in part was stored by another version of the service; run that version',
  })
  t.match(decideRecorded(decide, { ...someFacts(), phoneOnFile: 'in part', urgent: true }), {
    ruleId: 'email',
  })
  t.match(decideRecorded(decide, { ...PIGEON, optedOut: true, emailOnFile: 1 }), {
    ruleId: 'opted-out',
    channel: 'PIGEON',
  })
  t.equal(decideRecorded(decide, { eventType: 'claim.paid' }), null)
})
