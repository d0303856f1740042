import t from 'tap'
import { describeSituation, SITUATIONS, situationIndex } from '../../../src/core/rules/situations.ts'

t.test('there are 37 situations, each at its own index', async (t) => {
  t.equal(SITUATIONS.length, 37)
  for (const [index, situation] of SITUATIONS.entries()) t.equal(situationIndex(situation), index)
  const counts = Object.groupBy(SITUATIONS, ({ party }) => party)
  t.equal(counts.found?.length, 24)
  t.equal(counts['not found']?.length, 6)
  t.equal(counts.unresolved?.length, 6)
  t.equal(counts.missing?.length, 1)
})

t.test('a situation has words of its own', async (t) => {
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
    describeSituation({
      party: 'not found',
      optedOut: false,
      preferredChannel: 'EMAIL',
      emailOnFile: null,
      phoneOnFile: null,
    }),
    'party not found, not opted out, prefers EMAIL',
  )
  t.equal(
    describeSituation({
      party: 'missing',
      optedOut: false,
      preferredChannel: 'EMAIL',
      emailOnFile: null,
      phoneOnFile: null,
    }),
    'party missing',
  )
})
