import t from 'tap'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { describeSituation, foldSituations } from '../../../src/core/rules/situations.ts'
import { someFacts } from '../build.ts'
import { DEFAULT_ROWS, HEADINGS, SITUATIONS } from './default-table.ts'

/** The situations that rules with these conditions tell apart. */
function fold(...conditions: string[]) {
  const rows = conditions.map((cells, index) => `r${index},${cells},SKIP,,x,Y.`)
  return foldSituations(loadRuleTable([HEADINGS, ...rows].join('\n')).rules)
}

t.test('there are 37 situations of the shipped table, each at its own position', async (t) => {
  const { positionOf } = foldSituations(loadRuleTable([HEADINGS, ...DEFAULT_ROWS].join('\n')).rules)
  t.equal(SITUATIONS.length, 37)
  for (const [position, situation] of SITUATIONS.entries()) t.equal(positionOf(situation), position)
  const counts = Object.groupBy(SITUATIONS, ({ party }) => party)
  t.equal(counts.found?.length, 24)
  t.equal(counts['not found']?.length, 6)
  t.equal(counts.unresolved?.length, 6)
  t.equal(counts.missing?.length, 1)
})

t.test('a fact that no rule tests is in no situation', async (t) => {
  const { situations, positionOf } = fold('claim.paid,found,,EMAIL,yes,')
  t.equal(situations.length, 6 + 3 + 3 + 1)
  for (const situation of situations) t.notOk('optedOut' in situation)
  t.equal(positionOf(someFacts({ optedOut: true })), positionOf(someFacts({ optedOut: false })))
  t.equal(fold('claim.paid,found,,EMAIL,yes,', ',,no,,,yes').situations.length, 37)
})

t.test('an address is in situations once a rule may send to it', async (t) => {
  const keysOf = (row: string) => {
    const rules = loadRuleTable([HEADINGS, row].join('\n')).rules
    return Object.keys(foldSituations(rules).situations[0] ?? {}).filter((key) => key.endsWith('OnFile'))
  }
  t.same(keysOf('a,,found,,,,,SEND,SMS,,Y.'), ['phoneOnFile'])
  t.same(keysOf('a,,found,,EMAIL,,,SEND,,,Y.'), ['emailOnFile'])
  t.same(keysOf('a,,found,,,,,SEND,,,Y.'), ['emailOnFile', 'phoneOnFile'])
  t.same(keysOf('a,,found,,,,,SEND,IN_APP,,Y.'), [])
  t.same(keysOf('a,,found,,SMS,,,SKIP,,x,Y.'), [])
})

t.test('a situation has words of its own, and none for what is not known', async (t) => {
  t.equal(new Set(SITUATIONS.map(describeSituation)).size, 37)
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
