import t from 'tap'
import { compileRuleTable } from '../../../src/authoring/check/compile-table.ts'
import type { Situation } from '../../../src/service/decide/decision/facts.ts'
import { describeResult } from '../../../src/service/decide/decision/result.ts'
import { sha256 } from '../../service/build.ts'
import { DEFAULT_TABLE, SITUATIONS } from '../default-table.ts'

const table = await compileRuleTable(DEFAULT_TABLE, { eventTypes: ['claim.paid'] })

const SPECIFIED: readonly string[] = ['EMAIL', 'SMS', 'IN_APP']
/** The specification's result for all situations that have these facts. */
const EXPECTED: readonly (readonly [Partial<Situation>, string])[] = [
  [{ party: 'missing' }, 'SKIP: no party locator'],
  [{ party: 'not found' }, 'SKIP: party not found'],
  [{ party: 'unresolved' }, 'FAIL: contact could not be resolved'],
  [{ party: 'found', optedOut: true }, 'SKIP: event type opted out'],
  [{ optedOut: false, preferredChannel: 'EMAIL', emailOnFile: true }, 'SEND by email'],
  [{ optedOut: false, preferredChannel: 'EMAIL', emailOnFile: false }, 'SKIP: no email on file'],
  [{ optedOut: false, preferredChannel: 'SMS', phoneOnFile: true }, 'SEND by text message'],
  [{ optedOut: false, preferredChannel: 'SMS', phoneOnFile: false }, 'SKIP: no phone on file'],
  [{ party: 'found', optedOut: false, preferredChannel: 'IN_APP' }, 'SEND by app message'],
]

t.test('the default table gives the dispatch rules of the specification', async (t) => {
  for (const facts of SITUATIONS.filter(({ preferredChannel }) => SPECIFIED.includes(preferredChannel))) {
    const result = table.decide({ eventType: 'claim.paid', ...facts })
    const { outcome, channel, reason } = result
    const said = outcome === 'SEND' ? describeResult(result) : `${outcome}: ${reason}`
    const expected = EXPECTED.filter(([some]) =>
      Object.entries(some).every(([key, value]) => facts[key as keyof Situation] === value),
    )
    t.strictSame(
      [said],
      expected.map(([, what]) => what),
      JSON.stringify(facts),
    )
    t.equal(channel, facts.preferredChannel, 'the row gets the preferred channel')
    if (outcome === 'SEND') t.equal(reason, null, 'a SEND has no reason')
  }
})

t.test('a table knows its source and the hash of it', async (t) => {
  t.equal(table.source, DEFAULT_TABLE)
  t.equal(table.revision, sha256(DEFAULT_TABLE))
})
