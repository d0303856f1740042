import t from 'tap'
import type { Facts } from '../../../../src/service/decide/decision/facts.ts'
import { loadRuleTable } from '../../../../src/service/decide/rules/load-table.ts'
import { firstMismatch } from '../../../../src/service/decide/rules/mismatch.ts'
import type { Rule } from '../../../../src/service/decide/rules/rule.ts'
import { rule, table } from '../../../authoring/build.ts'
import { someFacts } from '../../build.ts'

type Conditions = Parameters<typeof rule>[0]

/** The first mismatch of a rule with these conditions. */
const mismatchIn = (conditions: Conditions, facts: Facts) =>
  firstMismatch(loadRuleTable(table(rule(conditions)))[0] as Rule, facts)

t.test('the first cell that does not match is named, with the expected and the actual value', async (t) => {
  const found = someFacts({ preferredChannel: 'SMS', phoneOnFile: false })
  const none = { eventType: 'claim.rejected', party: 'not found', optedOut: true, preferredChannel: 'EMAIL' }
  const said: readonly (readonly [Conditions, string | null])[] = [
    [none, '"event type" must be claim.rejected, but is claim.paid'],
    [{ ...none, eventType: 'not claim.*' }, '"event type" must be not claim.*, but is claim.paid'],
    [{ ...none, eventType: 'claim.*' }, '"party" must be not found, but is found'],
    [{ optedOut: true, emailOnFile: false }, '"opted out" must be yes, but is no'],
    [
      { preferredChannel: 'EMAIL', emailOnFile: false },
      '"preferred channel" must be email, but is text message',
    ],
    [{ emailOnFile: false, phoneOnFile: true }, '"email on file" must be no, but is yes'],
    [{ party: 'found', phoneOnFile: true }, '"phone on file" must be yes, but is no'],
    [
      {
        eventType: 'claim.paid',
        party: 'found',
        optedOut: false,
        preferredChannel: 'SMS',
        phoneOnFile: false,
      },
      null,
    ],
  ]
  for (const [conditions, text] of said) t.equal(mismatchIn(conditions, found), text)
})

t.test('addresses of a party that was not found are unknown and match only blank cells', async (t) => {
  const facts = someFacts({ party: 'not found' })
  t.match(mismatchIn({ emailOnFile: false }, facts), '"email on file" must be no, but is unknown')
  t.match(mismatchIn({ phoneOnFile: true }, facts), '"phone on file" must be yes, but is unknown')
  t.equal(mismatchIn({ party: 'not found' }, facts), null)
})
