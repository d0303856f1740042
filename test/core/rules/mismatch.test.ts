import t from 'tap'
import type { Facts } from '../../../src/core/decision/facts.ts'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { firstMismatch } from '../../../src/core/rules/mismatch.ts'
import type { Rule } from '../../../src/core/rules/rule.ts'
import { someFacts } from '../build.ts'
import { HEADINGS } from './default-table.ts'

const found = someFacts({ preferredChannel: 'SMS', phoneOnFile: false })

/** The first mismatch of a rule with these conditions. */
function mismatchOf(conditions: string, facts: Facts) {
  const [rule] = loadRuleTable(`${HEADINGS}\na,${conditions},SKIP,,x,Y.`).rules
  return firstMismatch(rule as Rule, facts)
}

t.test('the first cell that does not match is named, with the expected and the actual value', async (t) => {
  const said = [
    ['claim.rejected,found,yes,EMAIL,no,yes', '"event type" must be claim.rejected, but is claim.paid'],
    ['not claim.*,found,yes,EMAIL,no,yes', '"event type" must be not claim.*, but is claim.paid'],
    ['claim.*,not found,yes,EMAIL,,', '"party" must be not found, but is found'],
    ['claim.*,found,yes,EMAIL,no,yes', '"opted out" must be yes, but is no'],
    [',found,no,EMAIL,no,yes', '"preferred channel" must be EMAIL, but is SMS'],
    [',found,no,SMS,no,yes', '"email on file" must be no, but is yes'],
    [',found,no,SMS,,yes', '"phone on file" must be yes, but is no'],
  ] as const
  for (const [conditions, text] of said) {
    t.equal(mismatchOf(conditions, found), text)
  }
  t.equal(mismatchOf('claim.paid,found,no,SMS,yes,no', found), null, 'all match')
})

t.test('addresses of a party that was not found are unknown and match only blank cells', async (t) => {
  const facts = someFacts({ party: 'not found' })
  t.match(mismatchOf(',,,,no,', facts), '"email on file" must be no, but is unknown')
  t.match(mismatchOf(',,,,,yes', facts), '"phone on file" must be yes, but is unknown')
  t.equal(mismatchOf(',not found,,,,', facts), null)
})
