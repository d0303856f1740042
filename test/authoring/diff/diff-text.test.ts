import t from 'tap'
import { diffRuleTables } from '../../../src/authoring/diff/compare-tables.ts'
import { describeDiff } from '../../../src/authoring/diff/diff-text.ts'
import { above, rule } from '../build.ts'
import { createTable, DEFAULT_TABLE, describeThose } from '../default-table.ts'

const before = await createTable(DEFAULT_TABLE)

/** The description of the shipped table with a part replaced. */
async function said(from: string, to: string): Promise<string[]> {
  return describeDiff(diffRuleTables(before, await createTable(DEFAULT_TABLE.replace(from, to))))
}

t.test('a change is described in sentences, with the rules before and after', async (t) => {
  const sentences = await said('opted-out,,', 'opted-out,not claim.rejected,')
  const optedOut = { party: 'found', optedOut: true } as const
  const byEmail = describeThose({ ...optedOut, preferredChannel: 'EMAIL', emailOnFile: true })
  t.match(sentences, [
    new RegExp(
      `^${describeThose(optedOut).length} situations change: 0 no longer sent, \\d+ newly sent, \\d+ with`,
    ),
    `${byEmail.length} situations change from SKIP (event type opted out) to SEND by email for claim.rejected (rule "opted-out" before, rule "email" now):`,
    ...byEmail.map((situation) => `    ${situation}`),
  ])
})

t.test('a single change is described in the singular, its rule once', async (t) => {
  t.strictSame(await said('no party locator', 'no party'), [
    '1 situation changes: 0 no longer sent, 0 newly sent, 1 with another reason only',
    '1 situation changes from SKIP (no party locator) to SKIP (no party) for every event type (rule "no-party" as before):',
    '    party missing',
  ])
})

t.test('without a change the number is 0', async (t) => {
  t.strictSame(await said('opted-out,,', 'opted-out, ,'), ['0 situations change'])
})

t.test('a changed id or explanation has its own line', async (t) => {
  t.strictSame(await said('\nsms,', '\ntext,'), [
    '0 situations change',
    `${describeThose({ optedOut: false, preferredChannel: 'SMS', phoneOnFile: true }).length} situations with the same result by another rule (rule "sms" before, rule "text" now)`,
  ])
  t.strictSame(await said('The member asked not to be told of events of this type.', 'It asked.'), [
    '0 situations change',
    'rule "opted-out" has a new explanation: "It asked.", previously "The member asked not to be told of events of this type."',
  ])
})

t.test('event types that change alike share a change', async (t) => {
  const named = above('opted-out', [rule({ eventType: 'claim.paid', party: 'found', optedOut: true })])
  const after = await createTable(named.replace('SEND,EMAIL,', 'SEND,IN_APP,'))
  const { changes } = diffRuleTables(await createTable(named), after)
  const byEmail = describeThose({
    party: 'found',
    optedOut: false,
    preferredChannel: 'EMAIL',
    emailOnFile: true,
  })
  t.equal(changes.length, byEmail.length)
  for (const { eventClasses } of changes) t.equal(eventClasses.length, 2)
})

t.test('types that no cell names are described by the few that cells name', async (t) => {
  const quiet = { party: 'found', reason: 'quiet', because: 'We tell of three families.' }
  const change = async (eventType: string) => {
    const after = await createTable(above('no-email', [rule({ ...quiet, eventType })]))
    const [, sentence = ''] = describeDiff(diffRuleTables(await createTable(DEFAULT_TABLE), after))
    return sentence
  }
  t.match(
    await change('not claim.* or invoice.* or policy.*'),
    / for every event type but invoice\.\*, policy\.\*, claim\.\* \(/,
  )
  const many = Array.from({ length: 9 }, (_, i) => `claim.type_${i}`)
  t.match(await change(`not ${many.join(' or ')}`), / for any other event type \(/, 'too many to list')
})

t.test('all types but those that a cell names are described by those', async (t) => {
  const [, sentence = ''] = await said('opted-out,,', 'opted-out,claim.*,')
  t.match(sentence, / for every event type but claim\.\* \(rule "opted-out" before, rule "\w+" now\):$/)
})
