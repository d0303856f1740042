import t from 'tap'
import { loadRuleTable } from '../../../../src/service/decide/rules/load-table.ts'
import { above, type Row, rule, table } from '../../../authoring/build.ts'
import { createTable, DEFAULT_TABLE, describeThose, without } from '../../../authoring/default-table.ts'
import { faultsOf, someFacts } from '../../build.ts'

const faultsIn = (csvText: string) => faultsOf(createTable(csvText))
const REST = rule({ rule: 'rest' })
const UNCOVERED = { party: 'found', optedOut: false, preferredChannel: 'SMS', phoneOnFile: false } as const

t.test('situations that no rule covers are counted, with one of them in words', async (t) => {
  const [first] = describeThose(UNCOVERED)
  const { length } = describeThose(UNCOVERED)
  t.strictSame(await faultsIn(without('no-phone')), [
    `no rule covers: ${length} situations (every event type), such as ${first}`,
  ])
})

t.test('a channel that no rule names is no gap: its events fail where no rule can decide them', async (t) => {
  const decided = async (csvText: string, ...cases: Parameters<typeof someFacts>) => {
    const [facts] = cases
    const { ruleId, outcome, channel, reason } = (await createTable(csvText)).decide(someFacts(facts))
    return { ruleId, outcome, channel, reason }
  }
  const prefersApp = { preferredChannel: 'IN_APP' } as const
  const noRule = { ruleId: '(unknown channel)', outcome: 'FAIL', reason: 'no rule for this channel' }
  t.strictSame(await decided(without('in-app'), prefersApp), { ...noRule, channel: 'IN_APP' })
  t.match(await decided(without('in-app'), { ...prefersApp, optedOut: true }), { ruleId: 'opted-out' })
  t.match(await decided(without('in-app')), { ruleId: 'email', outcome: 'SEND' })
  const rest = above(null, [REST], without('in-app'))
  t.match(await decided(rest, prefersApp), { ruleId: 'rest', outcome: 'SKIP' })

  const open = table(rule({ party: 'found', emailOnFile: true, outcome: 'SEND' }), REST)
  const noPhone = { preferredChannel: 'SMS', phoneOnFile: false } as const
  t.strictSame(await decided(open, noPhone), { ...noRule, channel: 'SMS' }, 'it lacks the address')
  t.match(await decided(open, { ...noPhone, phoneOnFile: true }), { outcome: 'SEND', channel: 'SMS' })
  t.match(await decided(open, prefersApp), { outcome: 'SEND', channel: 'IN_APP' })
  const noEmail = table(rule({ party: 'found', outcome: 'SEND' }), REST)
  t.match(await faultsIn(noEmail), [/sends by email with no email on file/], 'the default is always named')
})

t.test('a SEND without a found party or an address for its channel is refused', async (t) => {
  const send = { outcome: 'SEND', optedOut: true, preferredChannel: 'SMS' } as const
  const refused: readonly (readonly [Row, string])[] = [
    [
      rule({ party: 'missing', outcome: 'SEND', sendBy: 'IN_APP' }),
      'without a found party: party missing (every event type). It needs "found" as its party.',
    ],
    [
      rule({ ...send, eventType: 'claim.paid', party: 'unresolved', sendBy: 'EMAIL' }),
      'without a found party: party unresolved, opted out, prefers text message (claim.paid). It needs "found" as its party.',
    ],
    [
      rule({ ...send, party: 'found', preferredChannel: 'EMAIL', emailOnFile: false, phoneOnFile: true }),
      'by email with no email on file: party found, opted out, prefers email, no email on file, phone on file (every event type). It needs "yes" as its email on file.',
    ],
    [
      rule({ ...send, party: 'found', emailOnFile: true, sendBy: 'SMS' }),
      'by text message with no phone on file: party found, opted out, prefers text message, email on file, no phone on file (every event type): write "yes" as its phone on file',
    ],
  ]
  for (const [row, fault] of refused)
    t.strictSame(await faultsIn(table(row, REST)).then(([first]) => first), `row 2: rule "a" sends ${fault}`)
})

t.test('faults with one cause are one, with a count and the row to move to', async (t) => {
  const careless = rule({ rule: 'careless', party: 'found', outcome: 'SEND', sendBy: 'IN_APP' })
  const below = loadRuleTable(DEFAULT_TABLE).flatMap(({ id, row }) => (row < 5 ? [] : id))
  t.strictSame(await faultsIn(above('opted-out', [careless])), [
    `row 5: rules ${below.map((id) => `"${id}"`).join(', ')} can never apply: ` +
      'rule "careless" above decides all of it: fill in more of its cells, or delete it',
  ])
  const paid = rule({ rule: 'paid', eventType: 'claim.paid', party: 'found', outcome: 'SEND', sendBy: 'SMS' })
  const [wrong = '', ...others] = await faultsIn(above('opted-out', [paid]))
  t.match(
    wrong,
    /^row 5: rule "paid" sends by text message with no phone on file: \d+ situations \(claim\.paid\)/,
  )
  t.strictSame(others, [], 'it lists no situations')
  const two = [
    rule({ rule: 'x', eventType: 'x or y', party: 'missing' }),
    rule({ rule: 'y', eventType: 'x', party: 'missing', because: 'Z.' }),
    rule({ rule: 'z', eventType: 'x', party: 'missing', reason: 'z' }),
  ]
  t.strictSame(await faultsIn(above('unresolved', two)), [
    'row 2: rules "y", "z" can never apply: rule "x" above decides all of it: move rule "x" below row 3 ("y"), or delete those that never apply',
  ])
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
      'row 3: rule "narrow" can never apply: rule "unresolved" (row 2) above decides all of it: move rule "unresolved" below row 3 ("narrow"), or delete rule "narrow"',
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
      'row 5: rule "both" can never apply: 2 rules above, "yes" (row 3) to "paid" (row 4), decide all of it: move it above row 3 ("yes") for all it describes (2 cases), or above row 4 ("paid") for 1 of the 2 cases, or delete it',
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
      '"preferred channel" is always email where "party" is missing',
    ],
  ]
  for (const [row, reason] of never)
    t.strictSame(await faultsIn(above('unresolved', [row], DEFAULT_TABLE)), [
      `row 2: rule "a" can never apply: ${reason}`,
    ])
})
