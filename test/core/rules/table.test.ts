import t from 'tap'
import { faultsOf } from '../build.ts'
import { above, type Row, rule, table } from './build.ts'
import { createTable, DEFAULT_TABLE, describeThose, without } from './default-table.ts'

const faultsIn = (csvText: string) => faultsOf(createTable(csvText))
const REST = rule({ rule: 'rest' })

t.test('a situation that no rule covers is named in words', async (t) => {
  const uncovered = { party: 'found', optedOut: false, preferredChannel: 'SMS', phoneOnFile: false } as const
  t.strictSame(
    await faultsIn(without('no-phone')),
    describeThose(uncovered).map((situation) => `no rule covers: ${situation} (every event type)`),
  )
})

t.test('a SEND without a found party or an address for its channel is refused', async (t) => {
  const send = { outcome: 'SEND', optedOut: true, preferredChannel: 'SMS' } as const
  const refused: readonly (readonly [Row, string])[] = [
    [
      rule({ party: 'missing', outcome: 'SEND', sendBy: 'IN_APP' }),
      'IN_APP without a found party: party missing (every event type)',
    ],
    [
      rule({ ...send, eventType: 'claim.paid', party: 'unresolved', sendBy: 'EMAIL' }),
      'EMAIL without a found party: party unresolved, opted out, prefers SMS (claim.paid)',
    ],
    [
      rule({ ...send, party: 'found', preferredChannel: 'EMAIL', emailOnFile: false, phoneOnFile: true }),
      'EMAIL with no email on file: party found, opted out, prefers EMAIL, no email on file, phone on file (every event type)',
    ],
    [
      rule({ ...send, party: 'found', emailOnFile: true, sendBy: 'SMS' }),
      'SMS with no phone on file: party found, opted out, prefers SMS, email on file, no phone on file (every event type)',
    ],
  ]
  for (const [row, fault] of refused)
    t.strictSame(await faultsIn(table(row, REST)), [`row 2: rule "a" sends by ${fault}`])
})

t.test('a rule hidden by rules above it is refused, and they are named', async (t) => {
  const unresolved = { party: 'unresolved', preferredChannel: 'SMS' } as const
  t.strictSame(
    await faultsIn(
      above('party-not-found', [
        rule({ rule: 'narrow', ...unresolved, eventType: 'claim.paid', optedOut: true, outcome: 'FAIL' }),
      ]),
    ),
    [
      'row 3: rule "narrow" can never apply: rules above it decide all that it covers\n' +
        '  rule "unresolved" (row 2): party unresolved, opted out, prefers SMS (claim.paid)',
    ],
  )
  t.strictSame(
    await faultsIn(
      above('unresolved', [
        rule({ rule: 'no', party: 'not found', optedOut: true }),
        rule({ rule: 'yes', ...unresolved, eventType: 'not claim.paid' }),
        rule({ rule: 'paid', ...unresolved, eventType: 'claim.paid' }),
        rule({ rule: 'both', ...unresolved, optedOut: false, outcome: 'FAIL' }),
      ]),
    ),
    [
      'row 5: rule "both" can never apply: rules above it decide all that it covers\n' +
        '  rule "yes" (row 3): party unresolved, not opted out, prefers SMS (any other event type)\n' +
        '  rule "paid" (row 4): party unresolved, not opted out, prefers SMS (claim.paid)',
    ],
  )
})

t.test('a rule that can match nothing is refused, with the reason', async (t) => {
  const never: readonly (readonly [Row, string])[] = [
    [
      rule({ party: 'not found', emailOnFile: false }),
      '"email on file" is always unknown where "party" is not found',
    ],
    [rule({ party: 'missing', optedOut: true }), '"opted out" is always no where "party" is missing'],
    [
      rule({ party: 'missing', preferredChannel: 'SMS' }),
      '"preferred channel" is always EMAIL where "party" is missing',
    ],
  ]
  for (const [row, reason] of never)
    t.strictSame(await faultsIn(above('unresolved', [row], DEFAULT_TABLE)), [
      `row 2: rule "a" can never apply: ${reason}`,
    ])
})
