import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { UNNAMED } from '../../../src/core/rules/event-classes.ts'
import { enumerate } from '../../../src/core/rules/first-match.ts'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { compareOutcomes, listOutcomes } from '../../../src/core/rules/outcomes.ts'
import { previewTexts } from '../../../src/core/templates/preview.ts'
import { templatesWith } from '../templates/files.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'
import { above, DEFAULT_OUTCOMES, DEFAULT_ROWS, HEADINGS, SITUATIONS } from './default-table.ts'

const PREVIEWS = previewTexts(templatesWith({}))

async function outcomesOf(rows: readonly string[], eventTypes: readonly string[] = EVENT_TYPES) {
  const { rules } = loadRuleTable([HEADINGS, ...rows].join('\n'))
  const previews = PREVIEWS.filter(({ eventType }) => [...eventTypes, UNNAMED].includes(eventType))
  return listOutcomes(await enumerate(rules, eventTypes), previews)
}

t.test('accepted outcomes are compared line by line', async (t) => {
  t.strictSame(compareOutcomes(DEFAULT_OUTCOMES, await outcomesOf(DEFAULT_ROWS)), { gone: [], fresh: [] })
  const muted = await outcomesOf(above('opted-out', 'muted,claim.paid,found,no,IN_APP,no,no,SKIP,,muted,Y.'))
  t.strictSame(compareOutcomes(DEFAULT_OUTCOMES, muted), {
    gone: [],
    fresh: [
      'claim.paid: party found, not opted out, prefers IN_APP, no email on file, no phone on file: SKIP (muted), rule "muted"',
    ],
  })
})

t.test('an event type lists only its differences from "any other"', async (t) => {
  const usual = await outcomesOf(DEFAULT_ROWS)
  t.equal(usual.match(/^ {2}party /gm)?.length, SITUATIONS.length)
  for (const eventType of EVENT_TYPES) t.match(usual, `\n\n${eventType}\n`)
  const muted = await outcomesOf(above('opted-out', 'muted,claim.paid,found,no,SMS,,,SKIP,,muted,Y.'))
  const added = ['no email on file, no', 'no email on file,', 'email on file, no', 'email on file,']
    .map((onFile) => `party found, not opted out, prefers SMS, ${onFile} phone on file`)
    .map((situation) => `  ${situation}: SKIP (muted), rule "muted"\n`)
  t.equal(muted, usual.replace('\nclaim.paid\n', `\nclaim.paid\n${added.join('')}`))
})

t.test('each text is shown as it is read by each channel, and is compared as a whole', async (t) => {
  const { rules } = loadRuleTable([HEADINGS, ...DEFAULT_ROWS].join('\n'))
  const text = 'Subject: Paid\n\nOne {{locator}}\n\nTwo{{#reason}}: {{reason}}{{/reason}}\n'
  const listed = async (body: string) =>
    listOutcomes(
      await enumerate(rules, ['claim.paid']),
      previewTexts(templatesWith({ 'claim.paid.mustache': body })),
    )
  t.match(
    await listed(text),
    `
claim.paid
  by EMAIL and IN_APP, with a reason:
  | Subject: Paid
  |
  | One CLM-2026-00056
  |
  | Two: The damage happened before the policy began.
  by SMS, with a reason: the same without the subject, 1 segment (GSM-7)
  by EMAIL and IN_APP, without a reason:
  | Subject: Paid
  |
  | One CLM-2026-00056
  |
  | Two
  by SMS, without a reason: the same without the subject, 1 segment (GSM-7)

claim.`,
  )
  const swapped = text.replace(/(One.*)\n\n(Two.*)/, '$2\n\n$1')
  const { gone, fresh } = compareOutcomes(await listed(text), await listed(swapped))
  t.equal(gone.length, 2)
  t.match(fresh, [/^claim\.paid: by EMAIL and IN_APP, with a reason:\n.*Two: The damage/s, /Two\n/])
})

t.test('types without a template, wildcards and exceptions have sections of their own', async (t) => {
  const rows = above('opted-out', 'a,consent.given or claim.*,found,,,,,SKIP,,x,Y.')
  const outcomes = await outcomesOf(rows, ['claim.paid', 'invoice.paid'])
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
  const negated = await outcomesOf(
    DEFAULT_ROWS.map((row) => row.replace('opted-out,,', 'opted-out,not a.b,')),
  )
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
  const mute = (eventType: string) => `mute-${eventType},${eventType},found,,,,,SKIP,,muted,Y.`
  const base = await outcomesOf(DEFAULT_ROWS)
  const sorted = EVENT_TYPES.toSorted()
  for (const [index, eventType] of sorted.slice(0, 4).entries()) {
    const neighbour = sorted[index + 1] as string
    const [one, other, both] = await Promise.all([
      outcomesOf(above('opted-out', mute(eventType))),
      outcomesOf(above('opted-out', mute(neighbour))),
      outcomesOf(above('opted-out', mute(eventType), mute(neighbour))),
    ])
    t.equal(merge(t, base, one, other), both, `${eventType} and ${neighbour}`)
  }
})
