import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  compareOutcomes,
  listOutcomes,
  rewordOutcomes,
} from '../../../src/authoring/outcomes/list-outcomes.ts'
import { previewTexts } from '../../../src/authoring/templates/preview.ts'
import { FACT_LIST } from '../../../src/service/decide/decision/facts.ts'
import { CHANNEL_KINDS } from '../../../src/service/decide/party/channel.ts'
import { UNNAMED } from '../../../src/service/decide/rules/event-classes.ts'
import { enumerate } from '../../../src/service/decide/rules/first-match.ts'
import { loadRuleTable } from '../../../src/service/decide/rules/load-table.ts'
import { above, rule } from '../build.ts'
import { DEFAULT_OUTCOMES, DEFAULT_TABLE, describeThose, SITUATIONS } from '../default-table.ts'
import { templatesWith } from '../templates/files.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'

const PREVIEWS = previewTexts(templatesWith({}))

async function outcomesOf(csvText: string, eventTypes: readonly string[] = EVENT_TYPES) {
  const rules = loadRuleTable(csvText)
  const previews = PREVIEWS.filter(({ eventType }) => [...eventTypes, UNNAMED].includes(eventType))
  return listOutcomes(await enumerate(rules, eventTypes), previews)
}

t.test('accepted outcomes are compared line by line', async (t) => {
  t.strictSame(compareOutcomes(DEFAULT_OUTCOMES, await outcomesOf(DEFAULT_TABLE)), { gone: [], fresh: [] })
  const inApp = { party: 'found', optedOut: false, preferredChannel: 'IN_APP', emailOnFile: false } as const
  const muted = await outcomesOf(above('opted-out', [rule({ eventType: 'claim.paid', ...inApp })]))
  t.strictSame(compareOutcomes(DEFAULT_OUTCOMES, muted), {
    gone: [],
    fresh: describeThose(inApp).map((situation) => `claim.paid: ${situation}: SKIP (x), rule "a"`),
  })
})

/** Every phrase that a version wrote into accepted outcomes: add new ones, and never take one out. */
const EVER_WRITTEN = `
party found, party not found, party unresolved, party missing, opted out, not opted out, email on file, no email on file
phone on file, no phone on file, prefers EMAIL, prefers SMS, prefers IN_APP, prefers email, prefers text message, prefers app message
`

t.test('words of earlier versions are told apart from other decisions', async (t) => {
  const formerly = (text: string) =>
    text
      .replace(/^#.*\n/, '')
      .replaceAll(/(prefers|by) email/g, '$1 EMAIL')
      .replaceAll(/(prefers|by) text message/g, '$1 SMS')
      .replaceAll(/(prefers|by|and) app message/g, '$1 IN_APP')
  t.equal(rewordOutcomes(formerly(DEFAULT_OUTCOMES)), DEFAULT_OUTCOMES)
  t.strictSame(compareOutcomes(formerly(DEFAULT_OUTCOMES), DEFAULT_OUTCOMES), { gone: [], fresh: [] })
  const muted = await outcomesOf(above('email', [rule({ eventType: 'claim.paid', party: 'found' })]))
  t.strictSame(
    compareOutcomes(formerly(DEFAULT_OUTCOMES), muted),
    compareOutcomes(DEFAULT_OUTCOMES, muted),
    'a changed decision',
  )
  const today = FACT_LIST.flatMap(([, { values, words }]) => values.map((value) => words(value as never)))
  const known = EVER_WRITTEN.trim().split(/, |\n/)
  for (const words of today) t.ok(known.includes(words), `list "${words}" above`)
  for (const words of known) t.ok(today.includes(rewordOutcomes(`  ${words}: x`).slice(2, -3)), words)
})

t.test("a company's own words stay as they are", (t) => {
  const own = `  party found: SKIP (told by SMS, prefers SMS, really), rule "SEND by SMS, prefers SMS"
  by email and app message:
  | Subject: prefers SMS
  | SEND by SMS: so, prefers SMS, it is`
  t.equal(rewordOutcomes(own), own)
  t.end()
})

t.test('an event type lists only its differences from "any other"', async (t) => {
  const usual = await outcomesOf(DEFAULT_TABLE)
  t.equal(usual.match(/^ {2}party /gm)?.length, SITUATIONS.length)
  for (const eventType of EVENT_TYPES) t.match(usual, `\n\n${eventType}\n`)
  const bySms = { party: 'found', optedOut: false, preferredChannel: 'SMS' } as const
  const muted = await outcomesOf(above('opted-out', [rule({ eventType: 'claim.paid', ...bySms })]))
  const added = describeThose(bySms).map((situation) => `  ${situation}: SKIP (x), rule "a"\n`)
  t.equal(muted, usual.replace('\nclaim.paid\n', `\nclaim.paid\n${added.join('')}`))
})

t.test('each text is shown as it is read by each channel, and is compared as a whole', async (t) => {
  const rules = loadRuleTable(DEFAULT_TABLE)
  const text = 'Subject: Paid\n\nOne {{locator}}\n\nTwo{{#reason}}: {{reason}}{{/reason}}\n'
  const listed = async (body: string) =>
    listOutcomes(
      await enumerate(rules, ['claim.paid']),
      previewTexts(templatesWith({ 'claim.paid.mustache': body })),
    )
  const [titled, plain] = [true, false].map((hasSubject) =>
    Object.values(CHANNEL_KINDS)
      .flatMap((kind) => (kind.hasSubject === hasSubject ? [kind.name] : []))
      .join(' and '),
  )
  t.match(
    await listed(text),
    `
claim.paid
  by ${titled}, with a reason:
  | Subject: Paid
  |
  | One CLM-2026-00056
  |
  | Two: The damage happened before the policy began.
  by ${plain}, with a reason: the same without the subject, 1 segment (GSM-7)
  by ${titled}, without a reason:
  | Subject: Paid
  |
  | One CLM-2026-00056
  |
  | Two
  by ${plain}, without a reason: the same without the subject, 1 segment (GSM-7)

claim.`,
  )
  const swapped = text.replace(/(One.*)\n\n(Two.*)/, '$2\n\n$1')
  const { gone, fresh } = compareOutcomes(await listed(text), await listed(swapped))
  t.equal(gone.length, 2)
  t.match(fresh, [/^claim\.paid: by email.*, with a reason:\n.*Two: The damage/s, /Two\n/])
})

t.test('types without a template, wildcards and exceptions have sections of their own', async (t) => {
  const skip = rule({ eventType: 'consent.given or claim.*', party: 'found' })
  const outcomes = await outcomesOf(above('opted-out', [skip]), ['claim.paid', 'invoice.paid'])
  const titles = outcomes.split('\n').filter((line) => /^[a-z]/.test(line))
  t.strictSame(titles, [
    'any other event type',
    'any other claim.*',
    'claim.paid',
    'consent.given',
    'invoice.paid',
  ])
  for (const title of ['any other claim.*', 'claim.paid', 'consent.given'])
    t.match(outcomes, `\n${title}\n  party found`)
  const negated = await outcomesOf(DEFAULT_TABLE.replace('opted-out,,', 'opted-out,not a.b,'))
  t.match(negated, /\na\.b\n {2}party found, opted out, .*: SKIP \(no email on file\)/)
})

/** git's merge of two versions with a common ancestor; throws on a conflict. */
function merge(t: Test, base: string, one: string, other: string): string {
  const dir = t.testdir({ base, one, other })
  const file = (name: string) => join(dir, name)
  for (const [name, text] of Object.entries({ base, one, other })) writeFileSync(file(name), text)
  return execFileSync('git', ['merge-file', '--stdout', file('one'), file('base'), file('other')], {
    encoding: 'utf8',
  })
}

t.test('changes of two event types merge without a conflict, even of neighbours', async (t) => {
  const muted = (...eventTypes: string[]) => {
    const rules = eventTypes.map((eventType) =>
      rule({ rule: `mute-${eventType}`, eventType, party: 'found' }),
    )
    return outcomesOf(above('opted-out', rules))
  }
  const base = await outcomesOf(DEFAULT_TABLE)
  const sorted = EVENT_TYPES.toSorted()
  for (const [index, eventType] of sorted.slice(0, 4).entries()) {
    const neighbour = sorted[index + 1] as string
    const [one, other, both] = await Promise.all([
      muted(eventType),
      muted(neighbour),
      muted(eventType, neighbour),
    ])
    t.equal(merge(t, base, one, other), both, `${eventType} and ${neighbour}`)
  }
})
