import t from 'tap'
import { STATED_FACT_LIST } from '../../../../src/service/decide/event/stated-facts.ts'
import { ADDRESSES, CHANNELS } from '../../../../src/service/decide/party/channel.ts'
import { loadRuleTable } from '../../../../src/service/decide/rules/load-table.ts'
import { describeSituation, foldSituations } from '../../../../src/service/decide/rules/situations.ts'
import { type Row, rule, table } from '../../../authoring/build.ts'
import { SITUATIONS } from '../../../authoring/default-table.ts'
import { someFacts } from '../../build.ts'

/** The situations that these rules tell apart. */
const fold = (...rows: Row[]) => foldSituations(loadRuleTable(table(...rows)))

t.test('a fact that no rule tests is in no situation', async (t) => {
  const { situations, findPosition } = fold(rule({ party: 'found', emailOnFile: true }))
  t.equal(situations.length, (2 + 1 + 1) * CHANNELS.length + 1)
  for (const situation of situations) t.notOk('optedOut' in situation)
  t.equal(findPosition(someFacts({ optedOut: true })), findPosition(someFacts({ optedOut: false })))
})

t.test('an address is part of situations once a rule may send to it', async (t) => {
  const addressesIn = (cells: Parameters<typeof rule>[0]) =>
    Object.keys(fold(rule(cells)).situations[0] ?? {}).filter((key) => key.endsWith('OnFile'))
  const send = { party: 'found', outcome: 'SEND' }
  t.strictSame(addressesIn({ ...send, sendBy: 'SMS' }), ['phoneOnFile'])
  t.strictSame(addressesIn({ ...send, preferredChannel: 'EMAIL' }), ['emailOnFile'])
  t.strictSame(
    addressesIn(send),
    ADDRESSES.map((address) => `${address}OnFile`),
  )
  t.strictSame(addressesIn({ ...send, sendBy: 'IN_APP' }), [])
  t.strictSame(addressesIn({ party: 'found', preferredChannel: 'SMS' }), [])
})

t.test('a situation is described by its known facts only', async (t) => {
  t.equal(new Set(SITUATIONS.map((situation) => describeSituation(situation))).size, SITUATIONS.length)
  t.equal(
    describeSituation({
      party: 'found',
      optedOut: true,
      preferredChannel: 'SMS',
      emailOnFile: false,
      phoneOnFile: true,
    }),
    'party found, opted out, prefers text message, no email on file, phone on file',
  )
  const stated = STATED_FACT_LIST.map(([, { column, usual }]) => `, ${column} ${usual}`).join('')
  t.equal(
    describeSituation(someFacts({ party: 'not found' })),
    `party not found, not opted out, prefers email${stated}`,
  )
  t.equal(describeSituation(someFacts({ party: 'missing' })), `party missing${stated}`)
})

t.test('facts and values of another version are shown as texts', async (t) => {
  t.equal(
    describeSituation({
      party: 'found',
      preferredChannel: 'PIGEON',
      phoneOnFile: 1,
      urgent: true,
      hours: [9, 17],
    }),
    'party found, prefers PIGEON, phone on file 1, urgent yes, hours [9,17]',
  )
  t.equal(describeSituation({ party: 'deceased', optedOut: true }), 'party deceased, opted out')
})
