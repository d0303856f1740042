import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Facts } from '../../../src/core/decision/facts.ts'
import { checkRuleFiles } from '../../../src/core/rules/check-files.ts'
import { diffRuleTables } from '../../../src/core/rules/diff.ts'
import { describeDiff } from '../../../src/core/rules/diff-text.ts'
import { createRuleTable } from '../../../src/core/rules/table.ts'
import { someFacts } from '../build.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'
import { withLaterChannels } from './default-table.ts'

const page = readFileSync(new URL('../../../rules/README.md', import.meta.url), 'utf8')
const sections = page.split('## Eight changes, worked through').at(-1)?.split(/^### /m).slice(1) ?? []

/** The changes that rules/README.md works through, each as the whole files that `before` becomes by it. */
const changes = [
  { file: 'mute-a-type', title: 'Mute a type', says: /8 no longer sent/ },
  { file: 'never-by-sms', title: 'A type that never goes by SMS', says: /1 no longer sent/ },
  {
    file: 'critical-type',
    title: 'A critical type that ignores the opt-out',
    says: /8 newly sent/,
  },
  { file: 'claims-by-email', title: 'Claims by email where there is no phone', says: /1 newly sent/ },
  { file: 'mute-two-types', title: 'Mute two types', says: /8 no longer sent/ },
  {
    file: 'lapsed-in-spite-of-opt-out',
    title: 'A lapsed policy in spite of an opt-out',
    says: /8 newly sent/,
  },
  { file: 'nothing-for-unknown-types', title: 'Nothing for unknown types', says: /8 no longer sent/ },
  { file: 'overdue-by-sms', title: 'An overdue invoice by SMS', says: /1 newly sent/ },
]
const before = await tableOf('before')

function read(name: string): string {
  return readFileSync(new URL(`worked-changes/${name}.csv`, import.meta.url), 'utf8')
}

function tableOf(name: string) {
  return createRuleTable(withLaterChannels(read(name).split('\n')).join('\n'), EVENT_TYPES, () => name)
}

function decision(facts: Partial<Facts>): Facts {
  return someFacts({ eventType: 'claim.rejected', ...facts })
}

t.test('each page section has its change', async (t) => {
  t.strictSame(
    sections.map((section) => section.split('\n')[0]),
    changes.map(({ title }) => title),
  )
})

for (const [index, { file, title, says }] of changes.entries()) {
  t.test(`"${title}" passes every check and does what the page says`, async (t) => {
    const section = sections[index] ?? ''
    const after = [...read(file).split('\n'), ...read(`${file}.promises`).split('\n')]
    const rows = [...section.matchAll(/```csv\n(.*?)\n```/gs)].flatMap(
      ([, block]) => block?.split('\n') ?? [],
    )
    t.not(rows.length, 0)
    for (const row of rows) t.ok(after.includes(row), row)

    const { table, promises } = await checkRuleFiles(read(file), read(`${file}.promises`), EVENT_TYPES)
    t.strictSame([...table.faults, ...table.warnings, ...promises.faults, ...promises.warnings], [])

    const diff = diffRuleTables(before, await tableOf(file))
    t.match(section, says)
    t.match(section, `The summary says: ${describeDiff(diff)[0]}`)
  })
}

t.test('a muted type goes to nobody, and its neighbours go on', async (t) => {
  const { decide } = await tableOf('mute-a-type')
  t.equal(decide(decision({ eventType: 'invoice.paid' })).outcome, 'SKIP')
  t.equal(decide(decision({ eventType: 'claim.rejected' })).outcome, 'SEND')
})

t.test('a type never by SMS goes by email, or not at all', async (t) => {
  const { decide } = await tableOf('never-by-sms')
  const bySms = { preferredChannel: 'SMS' } as const
  t.match(decide(decision(bySms)), { outcome: 'SEND', channel: 'EMAIL' })
  t.match(decide(decision({ ...bySms, emailOnFile: false })), { outcome: 'SKIP' })
  t.match(decide(decision({ ...bySms, eventType: 'invoice.paid' })), { outcome: 'SEND', channel: 'SMS' })
})

t.test('a critical type ignores the opt-out, and breaks the promise of it in the open', async (t) => {
  const { decide } = await tableOf('critical-type')
  t.equal(decide(decision({ optedOut: true })).outcome, 'SEND')
  t.equal(decide(decision({ optedOut: true, eventType: 'invoice.paid' })).outcome, 'SKIP')
  const { promises } = await checkRuleFiles(read('critical-type'), read('before.promises'), EVENT_TYPES)
  t.equal(promises.faults.length, 1)
  t.match(
    promises.faults[0],
    'row 2: "A party that opted out of an event type is never told of it" promises not SEND',
  )
})

t.test('a claim goes by email where there is no phone, and nothing else does', async (t) => {
  const { decide } = await tableOf('claims-by-email')
  const noPhone = { preferredChannel: 'SMS', phoneOnFile: false } as const
  t.match(decide(decision({ ...noPhone, eventType: 'claim.paid' })), { outcome: 'SEND', channel: 'EMAIL' })
  t.match(decide(decision({ ...noPhone, eventType: 'claim.paid', optedOut: true })), { outcome: 'SKIP' })
  t.match(decide(decision({ ...noPhone, eventType: 'claim.paid', emailOnFile: false })), { outcome: 'SKIP' })
  t.match(decide(decision({ ...noPhone, eventType: 'invoice.paid' })), { outcome: 'SKIP' })
})

t.test('two muted types go to nobody', async (t) => {
  const { decide } = await tableOf('mute-two-types')
  for (const eventType of ['invoice.finalised', 'payment.received'])
    t.match(decide(decision({ eventType })), { outcome: 'SKIP', reason: 'event type muted' })
  t.equal(decide(decision({ eventType: 'invoice.paid' })).outcome, 'SEND')
})

t.test(
  'a lapsed policy is told in spite of an opt-out, and breaks the promise of it in the open',
  async (t) => {
    const { decide } = await tableOf('lapsed-in-spite-of-opt-out')
    t.equal(decide(decision({ eventType: 'policy.lapsed', optedOut: true })).outcome, 'SEND')
    t.equal(decide(decision({ eventType: 'policy.issued', optedOut: true })).outcome, 'SKIP')
    const table = read('lapsed-in-spite-of-opt-out')
    t.equal((await checkRuleFiles(table, read('before.promises'), EVENT_TYPES)).promises.faults.length, 1)
  },
)

t.test(
  'nothing is sent of a type without a text, whatever the promises said of any other type',
  async (t) => {
    const { decide } = await tableOf('nothing-for-unknown-types')
    for (const eventType of EVENT_TYPES) t.equal(decide(decision({ eventType })).outcome, 'SEND', eventType)
    for (const preferredChannel of ['EMAIL', 'SMS', 'IN_APP'] as const)
      t.match(decide(decision({ eventType: 'consent.given', preferredChannel })), {
        outcome: 'SKIP',
        reason: 'no text for this event type',
      })
    const table = read('nothing-for-unknown-types')
    t.equal((await checkRuleFiles(table, read('before.promises'), EVENT_TYPES)).promises.faults.length, 3)
  },
)

t.test('an overdue invoice goes by SMS wherever there is a phone, but not after an opt-out', async (t) => {
  const { decide } = await tableOf('overdue-by-sms')
  const overdue = { eventType: 'invoice.overdue' }
  for (const preferredChannel of ['EMAIL', 'SMS', 'IN_APP'] as const)
    t.match(decide(decision({ ...overdue, preferredChannel })), { outcome: 'SEND', channel: 'SMS' })
  t.match(decide(decision({ ...overdue, phoneOnFile: false })), { outcome: 'SEND', channel: 'EMAIL' })
  t.equal(decide(decision({ ...overdue, optedOut: true })).outcome, 'SKIP')
})
