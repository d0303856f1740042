import t from 'tap'
import { ADDRESSES, CHANNELS } from '../../../src/core/decision/channel.ts'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { describeSituation, foldSituations } from '../../../src/core/rules/situations.ts'
import { someFacts } from '../build.ts'
import { HEADINGS, SITUATIONS } from './default-table.ts'

/** The situations that rules with these conditions tell apart. */
function fold(...conditions: string[]) {
  const rows = conditions.map((cells, index) => `r${index},${cells},SKIP,,x,Y.`)
  return foldSituations(loadRuleTable([HEADINGS, ...rows].join('\n')).rules)
}

t.test('a fact that no rule tests is in no situation', async (t) => {
  const { situations, findPosition } = fold('claim.paid,found,,EMAIL,yes,')
  t.equal(situations.length, (2 + 1 + 1) * CHANNELS.length + 1)
  for (const situation of situations) t.notOk('optedOut' in situation)
  t.equal(findPosition(someFacts({ optedOut: true })), findPosition(someFacts({ optedOut: false })))
  t.equal(fold('claim.paid,found,,EMAIL,yes,', ',,no,,,yes').situations.length, SITUATIONS.length)
})

t.test('an address is part of situations once a rule may send to it', async (t) => {
  const keysOf = (row: string) => {
    const rules = loadRuleTable([HEADINGS, row].join('\n')).rules
    return Object.keys(foldSituations(rules).situations[0] ?? {}).filter((key) => key.endsWith('OnFile'))
  }
  t.same(keysOf('a,,found,,,,,SEND,SMS,,Y.'), ['phoneOnFile'])
  t.same(keysOf('a,,found,,EMAIL,,,SEND,,,Y.'), ['emailOnFile'])
  t.same(
    keysOf('a,,found,,,,,SEND,,,Y.'),
    ADDRESSES.map((address) => `${address}OnFile`),
  )
  t.same(keysOf('a,,found,,,,,SEND,IN_APP,,Y.'), [])
  t.same(keysOf('a,,found,,SMS,,,SKIP,,x,Y.'), [])
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
    'party found, opted out, prefers SMS, no email on file, phone on file',
  )
  t.equal(
    describeSituation(someFacts({ party: 'not found' })),
    'party not found, not opted out, prefers EMAIL',
  )
  t.equal(describeSituation(someFacts({ party: 'missing' })), 'party missing')
})

t.test('facts and values of another version are shown as texts', async (t) => {
  const facts = { ...someFacts(), preferredChannel: 'PUSH', phoneOnFile: 1, urgent: true, hours: [9, 17] }
  t.equal(
    describeSituation(facts),
    'party found, not opted out, prefers PUSH, email on file, phone on file 1, urgent yes, hours [9,17]',
  )
  t.equal(describeSituation({ party: 'deceased', optedOut: true }), 'party deceased, opted out')
})
