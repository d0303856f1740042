import t from 'tap'
import { faultsOf as faultsOfTable } from '../build.ts'
import { DEFAULT_ROWS, tableOf } from './default-table.ts'

const faultsOf = (...rows: string[]) => faultsOfTable(tableOf(rows))

t.test('a situation that no rule covers is named in words', async (t) => {
  const withoutNoPhone = DEFAULT_ROWS.filter((row) => !row.startsWith('no-phone,'))
  t.strictSame(await faultsOf(...withoutNoPhone), [
    'no rule covers: party found, not opted out, prefers SMS, no email on file, no phone on file (every event type)',
    'no rule covers: party found, not opted out, prefers SMS, email on file, no phone on file (every event type)',
  ])
})

t.test('a SEND without a found party is refused', async (t) => {
  t.strictSame(await faultsOf('missing-in-app,,missing,,,,,SEND,IN_APP,,Y.', 'rest,,,,,,,SKIP,,x,Y.'), [
    'row 2: rule "missing-in-app" sends by IN_APP without a found party: party missing (every event type)',
  ])
  t.strictSame(await faultsOf('a,claim.paid,unresolved,yes,SMS,,,SEND,EMAIL,,Y.', 'rest,,,,,,,SKIP,,x,Y.'), [
    'row 2: rule "a" sends by EMAIL without a found party: party unresolved, opted out, prefers SMS (claim.paid)',
  ])
})

t.test('a SEND without an address for its channel is refused', async (t) => {
  t.strictSame(await faultsOf('by-choice,,found,yes,EMAIL,no,yes,SEND,,,Y.', 'rest,,,,,,,SKIP,,x,Y.'), [
    'row 2: rule "by-choice" sends by EMAIL with no email on file: party found, opted out, prefers EMAIL, no email on file, phone on file (every event type)',
  ])
  t.strictSame(await faultsOf('by-sms,,found,no,IN_APP,yes,,SEND,SMS,,Y.', 'rest,,,,,,,SKIP,,x,Y.'), [
    'row 2: rule "by-sms" sends by SMS with no phone on file: party found, not opted out, prefers IN_APP, email on file, no phone on file (every event type)',
  ])
})

t.test('a rule hidden by rules above it is refused, and they are named', async (t) => {
  const [unresolved, ...others] = DEFAULT_ROWS
  t.strictSame(
    await faultsOf(
      'broad,,unresolved,,,,,SKIP,,x,Y.',
      'narrow,claim.paid,unresolved,yes,SMS,,,FAIL,,x,Y.',
      ...others,
    ),
    [
      'row 3: rule "narrow" can never apply: rules above it decide all that it covers\n' +
        '  rule "broad" (row 2): party unresolved, opted out, prefers SMS (claim.paid)',
    ],
  )
  t.strictSame(
    await faultsOf(
      'no,,missing,,,,,SKIP,,x,Y.',
      'yes,not claim.paid,unresolved,,SMS,,,SKIP,,x,Y.',
      'paid,claim.paid,unresolved,,SMS,,,SKIP,,x,Y.',
      'both,,unresolved,no,SMS,,,FAIL,,x,Y.',
      unresolved as string,
      ...others.filter((row) => !row.startsWith('no-party,')),
    ),
    [
      'row 5: rule "both" can never apply: rules above it decide all that it covers\n' +
        '  rule "yes" (row 3): party unresolved, not opted out, prefers SMS (any other event type)\n' +
        '  rule "paid" (row 4): party unresolved, not opted out, prefers SMS (claim.paid)',
    ],
  )
})

t.test('a rule that can match nothing is refused, with the reason', async (t) => {
  const onFile = 'can never apply: "email on file" is always unknown where "party" is not found'
  const optedOut = 'can never apply: "opted out" is always no where "party" is missing'
  const channel = 'can never apply: "preferred channel" is always EMAIL where "party" is missing'
  t.strictSame(await faultsOf('a,,not found,,,no,,SKIP,,x,Y.', ...DEFAULT_ROWS), [
    `row 2: rule "a" ${onFile}`,
  ])
  t.strictSame(await faultsOf('a,,missing,yes,,,,SKIP,,x,Y.', ...DEFAULT_ROWS), [
    `row 2: rule "a" ${optedOut}`,
  ])
  t.strictSame(await faultsOf('a,,missing,,SMS,,,SKIP,,x,Y.', ...DEFAULT_ROWS), [
    `row 2: rule "a" ${channel}`,
  ])
})
