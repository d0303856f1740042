import t from 'tap'
import {
  buildProposeUrl,
  type Files,
  formatProposal,
  gridToCsv,
  loadVersion,
  readGrid,
  readTexts,
  summariseChange,
  type Version,
} from '../../../src/authoring/diff/review.ts'
import { PROMISE_SHEET } from '../../../src/service/decide/rules/load-promises.ts'
import { RULE_SHEET } from '../../../src/service/decide/rules/rule.ts'
import { someFacts } from '../../service/build.ts'
import { above, rule } from '../build.ts'
import {
  DEFAULT_OUTCOMES as outcomes,
  PROMISE_COUNT,
  DEFAULT_PROMISES as promises,
  DEFAULT_TABLE as table,
} from '../default-table.ts'

const GENERIC = 'Subject: News\n\nA {{eventType}} event has occurred\n'
const TEXT = 'Subject: News\n\nOf {{locator}}\n'
const templates = ['claim.paid', 'invoice.paid', 'generic'].map((name) => ({
  name: `${name}.mustache`,
  text: name === 'generic' ? GENERIC : TEXT,
}))
const FILES = { table, promises, templates }

/** The review of files that differ from those in force. */
async function reviewOf(
  change: Partial<Files>,
  traffic: string | null = null,
  accepted = outcomes,
  trafficBefore = traffic,
) {
  const [before, after] = await Promise.all(
    [FILES, { ...FILES, ...change }].map((files) =>
      loadVersion(files, readTexts(files.templates, outcomes, [])),
    ),
  )
  const summary = summariseChange(before as Version, after as Version, accepted, traffic, trafficBefore)
  return { ...(after as Version), summary }
}

t.test('the files in force have no fault, keep all promises and change nothing', async (t) => {
  const { table, promises, texts, summary } = await reviewOf({})
  t.strictSame([table.faults, promises.faults, texts.report.faults], [[], [], []])
  t.match(promises.summary, `${PROMISE_COUNT} promises, all kept`)
  t.match(summary, { diff: { changes: [] }, rows: [], texts: [] })
  t.equal(summary.reviews.at(-3)?.file, 'templates/', 'a warning about all texts')
})

t.test('faults are reported at their row; then nothing is compared', async (t) => {
  const { table: report, promises, summary } = await reviewOf({ table: table.replace('SKIP', 'SKIPP') })
  t.match(report.faults, [{ row: 3, column: 'outcome', text: /^"SKIPP"/ }])
  t.equal(summary.diff, null)
  t.equal(promises.summary, null, 'nor are promises held against it')
})

t.test('deleted, narrowed or renamed rows are reported, even if no decision changes', async (t) => {
  const { promises: report, summary } = await reviewOf({
    table: table.replace('\nsms,', '\ntext,'),
    promises: promises
      .replace(/^We never send a text message.*\n/m, ',,\n')
      .replace('opted out of,,', 'opted out of,not claim.paid,'),
  })
  t.equal(report.summary, `${PROMISE_COUNT - 1} promises, all kept`)
  t.strictSame(
    summary.rows.map(({ text }) => text),
    [
      'promise deleted: "We never send a text message without a phone number"',
      'promise narrowed: "We never tell a member about an event type that the member opted out of": event type "not claim.paid" instead of any',
      'rule renamed: "sms" is now "text"',
    ],
  )
})

t.test('a new text counts for the rules, and its file name is checked', async (t) => {
  const withText = (name: string) => ({
    table: above('email', [rule({ rule: 'no-text', eventType: 'no template', party: 'found' })]),
    templates: [...templates, { name, text: TEXT }],
  })
  const { summary, ruleTable } = await reviewOf(withText('policy.transferred.mustache'))
  t.match(summary.texts, [{ eventType: 'policy.transferred', before: null }])
  const decide = (eventType: string) => ruleTable?.decide({ ...someFacts(), eventType }).ruleId
  t.strictSame([decide('policy.transferred'), decide('policy.moved')], ['email', 'no-text'])
  const { texts } = await reviewOf(withText('Claim.paid (1).mustache'))
  t.match(texts.report.faults, [{ line: null, text: /did you mean "claim\.paid"/ }])
})

t.test('a file is written back byte for byte, so that a diff shows only the change', async (t) => {
  for (const [source, form] of [
    [table, RULE_SHEET],
    [promises, PROMISE_SHEET],
  ] as const) {
    const { columns, rows } = readGrid(source, form)
    t.equal(rows && gridToCsv(form.columns, rows, columns), source)
  }
})

const aSheet = (...columns: readonly string[]) => ({ what: 'row', columns, optional: [] })

t.test('a file keeps its own columns, and gets another one once a cell of it is filled', async (t) => {
  const form = { ...aSheet('a', 'b', 'c', 'd'), optional: ['b', 'c'] }
  const { columns, rows } = readGrid('d;a\n4;1\n', form)
  t.strictSame(columns, ['d', 'a'])
  t.strictSame(rows, [['1', '', '', '4']])
  t.equal(gridToCsv(form.columns, rows ?? [], columns), 'd,a\n4,1\n')
  t.equal(gridToCsv(form.columns, [['1', '', '3', '4']], columns), 'd,a,c\n4,1,3\n')
  t.equal(gridToCsv(form.columns, [['1', '2', '3', '4']], columns), 'd,a,b,c\n4,1,2,3\n')
})

t.test('cells with any content are written back; a line break becomes a space', (t) => {
  const columns = ['a', 'b', 'c']
  const cells = ['=1+1', 'x, "y"; z', "'<img src=x onerror=alert(1)>"]
  const { rows } = readGrid(gridToCsv(columns, [cells, ['two\r\nlines', '', ' c ']]), aSheet(...columns))
  t.strictSame(rows, [cells, ['two lines', '', 'c']])
  t.end()
})

t.test('a file that cannot be shown as a grid has a reason', (t) => {
  const { rows, faults } = readGrid('a,oops\n1,2,3\n', aSheet('a', 'b'))
  t.equal(rows, null)
  t.match(faults, [
    { row: 1, text: /^"oops" is not a column/ },
    { row: 1, text: /^column "b" is missing/ },
    { row: 2, text: /^3 cells/ },
  ])
  t.end()
})

t.test('the upload link fits the forge', async (t) => {
  for (const url of ['https://github.com/a/b', 'https://github.com/a/b.git']) {
    t.equal(buildProposeUrl(url, 'rules'), 'https://github.com/a/b/upload/main/rules')
    t.equal(buildProposeUrl(url, ''), 'https://github.com/a/b/upload/main')
  }
  t.equal(
    buildProposeUrl('https://gitlab.insurer.example/x/a/b', 'rules'),
    'https://gitlab.insurer.example/x/a/b/-/tree/main/rules',
  )
})

const TRAFFIC = `event type,party,opted out,preferred channel,email on file,phone on file,events,first day,last day
invoice.paid,found,no,EMAIL,yes,no,785,2026-10-29,2026-11-27
invoice.paid,found,no,SMS,yes,yes,12,2026-10-29,2026-11-27
claim.paid,found,no,EMAIL,yes,no,9000,2026-10-29,2026-11-27
(others),,,,,,57,2026-10-29,2026-11-27
`
const MUTED = `${table.split('\n', 1)[0]}\nmuted,invoice.paid,found,,EMAIL,,,SKIP,,muted,Nobody wants it.\n${table.split('\n').slice(1).join('\n')}`

t.test('with the traffic, a change says how many events of the last month it concerns', async (t) => {
  const { summary } = await reviewOf({ table: MUTED }, TRAFFIC)
  t.equal(summary.traffic?.summary, 'Of about 9,854 events in 30 days, 785 change: 785 no longer sent')
  t.match(summary.traffic?.changes, [
    /^785 from SEND by email to SKIP \(muted\) for invoice\.paid \(rule "email" before, rule "muted" now\)/,
  ])
  t.match(
    summary.traffic?.notes.join('\n'),
    /Rules that would have decided none of them, unless in a small group: .*"opted-out"/,
  )
  t.match(formatProposal(summary), '### Of about 9,854 events in 30 days, 785 change: 785 no longer sent')
  t.notOk(summary.reviews.some(({ faults }) => faults.length > 0))
})

t.test('members of any channel who are not told are counted in one sentence', async (t) => {
  const optedOut = ['EMAIL', 'IN_APP'].map(
    (channel) => `claim.paid,found,yes,${channel},yes,yes,20,2026-10-29,2026-11-27\n`,
  )
  const { summary } = await reviewOf(
    { table: table.replace('event type opted out', 'opted out by the member') },
    TRAFFIC.replace('(others)', `${optedOut.join('')}(others)`),
  )
  t.match(summary.traffic?.changes, { length: 1 })
  t.match(summary.traffic?.changes, [
    /^40 from SKIP \(event type opted out\) to SKIP \(opted out by the member\) for claim\.paid/,
  ])
})

t.test('a rule that mutes those who prefer one channel says who is still told', async (t) => {
  const { summary } = await reviewOf({ table: MUTED }, TRAFFIC)
  t.equal(summary.traffic?.notes[0], 'Still sent of invoice.paid: 12 by text message')
})

t.test('a rule that sends by another channel says who is still told by others', async (t) => {
  const row = rule({
    ...{ rule: 'by-email', eventType: 'claim.paid', party: 'found', emailOnFile: 'yes' },
    ...{ outcome: 'SEND', sendBy: 'EMAIL', reason: '', because: 'Claims go by email.' },
  })
  const bySms = ['yes', 'no'].map(
    (email) => `claim.paid,found,no,SMS,${email},yes,40,2026-10-29,2026-11-27\n`,
  )
  const { summary } = await reviewOf(
    { table: above('no-email', [row]) },
    TRAFFIC.replace('(others)', `${bySms.join('')}(others)`),
  )
  t.match(summary.traffic?.changes, [/^40 from SEND by text message to SEND by email for claim\.paid/])
  t.equal(summary.traffic?.notes[0], 'Still sent of claim.paid: 9,040 by email, 40 by text message')
})

t.test('a change of a type that did not come does not look as if it changed nothing', async (t) => {
  const { summary } = await reviewOf(
    { table: MUTED.replace('invoice.paid', 'claim.paid') },
    TRAFFIC.replaceAll('claim.paid', 'claim.approved'),
  )
  const unless = 'unless in a small group'
  t.match(summary.traffic?.summary, `, none was of claim.paid, ${unless}, and no other changes`)
  t.match(summary.traffic?.notes.join('\n'), `Types that did not come in this time, ${unless}: claim.paid`)
  t.match(summary.traffic?.notes.join('\n'), `Rules that would have decided none of them, ${unless}: `)
})

t.test('that nothing changes, or nobody is still told, is not said of small groups', async (t) => {
  const unless = 'unless in a small group'
  const unchanged = await reviewOf({ table: MUTED.replace(',EMAIL,', ',IN_APP,') }, TRAFFIC)
  t.match(unchanged.summary.traffic?.summary, `, none changes, ${unless}`)
  const untold = await reviewOf({ table: MUTED }, TRAFFIC.replace(/^invoice\.paid,.*SMS.*\n/m, ''))
  t.equal(untold.summary.traffic?.notes[0], `Still sent of invoice.paid: none, ${unless}`)
})

t.test('without small groups, a type that is not counted did not come', async (t) => {
  const { summary } = await reviewOf(
    { table: MUTED.replace('invoice.paid', 'claim.paid') },
    TRAFFIC.replaceAll('claim.paid', 'claim.approved').replace(',57,', ',0,'),
  )
  t.match(summary.traffic?.summary, /, none was of claim\.paid, and no other changes$/)
  t.match(summary.traffic?.notes.join('\n'), 'Types that did not come in this time: claim.paid')
})

t.test('a promise that covers a part of the changed events is not told', async (t) => {
  const { summary } = await reviewOf({ table: MUTED }, TRAFFIC)
  t.match(summary.traffic?.changes[0], '; promise: "We never send a text message without a phone number"')
  const withPhone = TRAFFIC.replace(
    '(others)',
    'invoice.paid,found,no,EMAIL,yes,yes,3,2026-10-29,2026-11-27\n(others)',
  )
  const both = await reviewOf({ table: MUTED }, withPhone)
  t.notMatch(both.summary.traffic?.changes[0], '; promise: ')
})

t.test('counts that a change brings along are said first', async (t) => {
  const fewer = TRAFFIC.replace('785', '10')
  for (const [before, words] of [
    [TRAFFIC, 'before, rules/traffic.csv had about 9,854 events'],
    [null, 'before, there was no rules/traffic.csv that can be read'],
    ['damaged', 'before, there was no rules/traffic.csv that can be read'],
  ] as const) {
    const { summary } = await reviewOf({ table: MUTED }, fewer, outcomes, before)
    t.equal(summary.traffic?.notes[0], `These counts came with the change: ${words}`)
  }
  for (const same of [fewer, fewer.replaceAll('\n', '\r\n')]) {
    const { summary } = await reviewOf({ table: MUTED }, fewer, outcomes, same)
    t.notMatch(summary.traffic?.notes.join('\n'), 'These counts')
  }
})

t.test('many warnings are folded, so that the changes stay in view', async (t) => {
  const copies = (count: number) =>
    above(
      'no-email',
      Array.from({ length: count }, (_, at) =>
        rule({
          rule: `copy-${at}`,
          eventType: `exactly claim.step_${at}`,
          party: 'found',
          because: 'Copied.',
        }),
      ),
    )
  // One for each unknown type, for each copy but the first, and for the texts.
  const shown = formatProposal((await reviewOf({ table: copies(4) })).summary)
  t.match(shown, /^### 8 warnings$/m)
  t.notMatch(shown, 'more warning')
  const folded = formatProposal((await reviewOf({ table: copies(5) })).summary)
  t.match(
    folded,
    /^### 10 warnings\n\n(- .*\n){8}\n<details><summary>2 more warnings<\/summary>\n\n(- .*\n){2}\n<\/details>\n/m,
  )
})

t.test('a damaged traffic file is a fault of its own; without one, all works as before', async (t) => {
  const { summary } = await reviewOf({ table: MUTED }, TRAFFIC.replace('785', 'many'))
  t.equal(summary.traffic, null)
  t.match(summary.reviews.at(-1), {
    file: 'rules/traffic.csv',
    faults: [{ row: 2, column: 'events', text: /"many"/ }],
  })
  const without = await reviewOf({ table: MUTED })
  t.equal(without.summary.traffic, null)
  t.match(without.summary.diff, { changes: [{}, {}] })
})

t.test('the marks of an unresolved merge in the accepted outcomes are a fault', async (t) => {
  const marked = outcomes.replace('claim.paid', '<<<<<<< HEAD\nclaim.paid')
  const { summary } = await reviewOf({}, null, marked)
  const line = marked.slice(0, marked.indexOf('<<<')).split('\n').length
  t.match(summary.reviews.at(-2), {
    file: 'rules/outcomes.txt',
    faults: [{ row: line, text: /^a merge left its marks/ }],
  })
})

t.test('a weaker promise stands first in the summary, with what it forbade and the table does', async (t) => {
  const first = /^> \[!CAUTION\]\n> \*\*1 promise (deleted|narrowed)\*\*\n/
  const narrowed = promises.replace('opted out of,,', 'opted out of,not claim.paid,')
  const alone = await reviewOf({ promises: narrowed })
  t.match(formatProposal(alone.summary), first)
  t.match(formatProposal(alone.summary), /^> Nothing that this table does was forbidden before/m)
  const told = await reviewOf({
    promises: narrowed,
    table: table.replace('\nopted-out,,', '\nopted-out,not claim.paid,'),
  })
  t.match(told.summary.nowPossible, [
    /^"We never tell a member .*" promises that nothing is sent, but it is$/,
    /^sent by email by rule "email" \(row \d+\): /,
  ])
  t.match(formatProposal(told.summary), first)
})

t.test(
  'a table that could be shorter says so at the end of the summary; the one in force could not',
  async (t) => {
    t.strictSame((await reviewOf({})).summary.shorter, [])
    const { summary } = await reviewOf({
      table: above('no-party', [
        rule({ rule: 'again', eventType: 'claim.paid', party: 'missing', reason: 'no party locator' }),
      ]),
    })
    t.match(summary.shorter, [/^without rule "again"/])
    t.match(formatProposal(summary), /<details><summary>The table could be shorter, .*without rule "again"/s)
  },
)
