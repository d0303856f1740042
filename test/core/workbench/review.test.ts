import { readFile } from 'node:fs/promises'
import t from 'tap'
import {
  type Files,
  loadVersion,
  proposalOf,
  readTexts,
  summariseChange,
  type Version,
} from '../../../src/core/workbench/review.ts'
import { someFacts } from '../build.ts'

const read = (name: string) => readFile(new URL(`../../../rules/${name}`, import.meta.url), 'utf8')
const [table, promises] = await Promise.all([read('dispatch.csv'), read('promises.csv')])
const outcomes = await read('outcomes.txt')
const GENERIC = 'Subject: News\n\nA {{eventType}} event has occurred\n'
const TEXT = 'Subject: News\n\nOf {{locator}}\n'
const templates = ['claim.paid', 'invoice.paid', 'generic'].map((name) => ({
  name: `${name}.mustache`,
  text: name === 'generic' ? GENERIC : TEXT,
}))
const FILES = { table, promises, templates }

/** The review of files that differ from those in force. */
async function reviewOf(change: Partial<Files>) {
  const [before, after] = await Promise.all(
    [FILES, { ...FILES, ...change }].map((files) => loadVersion(files, readTexts(files.templates, outcomes))),
  )
  const summary = summariseChange(before as Version, after as Version, outcomes)
  return { ...(after as Version), summary }
}

t.test('the files in force have no fault, keep all promises and change nothing', async (t) => {
  const { table, promises, texts, summary } = await reviewOf({})
  t.same([table.faults, promises.faults, texts.report.faults], [[], [], []])
  t.match(promises.summary, '6 promises, all kept')
  t.match(summary, { diff: { changes: [] }, rows: [], texts: [] })
})

t.test('faults are reported at their row; then nothing is compared', async (t) => {
  const { table: report, promises, summary } = await reviewOf({ table: table.replace('SKIP', 'SKIPP') })
  t.match(report.faults, [/^row 3, column "outcome": "SKIPP"/])
  t.equal(summary.diff, null)
  t.equal(promises.summary, null, 'nor are promises held against it')
})

t.test('a broken promise is reported at its row, with the cell that excludes the case', async (t) => {
  const { promises, summary } = await reviewOf({
    table: table.replace('opted-out,,', 'opted-out,not claim.paid,'),
  })
  t.match(promises.faults, [
    /^row 2: "A party that opted out .*" promises that nothing is sent.*write "not claim\.paid" as/s,
  ])
  t.match(proposalOf(summary), /newly sent/)
})

t.test('deleted, narrowed or renamed rows are reported, even if no decision changes', async (t) => {
  const { promises: report, summary } = await reviewOf({
    table: table.replace('\nsms,', '\ntext,'),
    promises: promises
      .replace(/^Nobody is written to by SMS.*\n/m, ',,,,,,,,,\n')
      .replace('never told of it,,', 'never told of it,not claim.paid,'),
  })
  t.equal(report.summary, '5 promises, all kept')
  t.same(
    summary.rows.map(({ text }) => text),
    [
      'promise deleted: "Nobody is written to by SMS without a phone number"',
      'promise narrowed: "A party that opted out of an event type is never told of it": event type "not claim.paid" instead of any',
      'rule renamed: "sms" is now "text"',
    ],
  )
})

t.test('a new text counts for the rules, and its file name is checked', async (t) => {
  const withText = (name: string) => ({
    table: table.replace('\nemail,', `\n${UNTOLD}email,`),
    templates: [...templates, { name, text: TEXT }],
  })
  const { summary, ruleTable } = await reviewOf(withText('policy.transferred.mustache'))
  t.match(summary.texts, [{ eventType: 'policy.transferred', before: null }])
  const decide = (eventType: string) => ruleTable?.decide({ ...someFacts(), eventType }).ruleId
  t.same([decide('policy.transferred'), decide('policy.moved')], ['email', 'no-text'])
  const { texts } = await reviewOf(withText('Claim.paid (1).mustache'))
  t.match(texts.report.faults, [{ line: null, text: /did you mean "claim\.paid"/ }])
})

const UNTOLD = 'no-text,no template,found,,,,,SKIP,,no text,Nothing to tell.\n'
