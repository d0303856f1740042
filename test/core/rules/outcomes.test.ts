import { readFileSync } from 'node:fs'
import t from 'tap'
import type { EventClass } from '../../../src/core/rules/classes.ts'
import { type Answer, enumerate } from '../../../src/core/rules/enumerate.ts'
import { describeSituation, SITUATIONS } from '../../../src/core/rules/situations.ts'
import { describeVerdict, verdictOf } from '../../../src/core/rules/verdict.ts'
import { above, DEFAULT_ROWS, tableOf } from './default-table.ts'

/** One line for each situation of event types that no rule names; of all others, those that differ from them. */
async function outcomesOf(rows: readonly string[]): Promise<string> {
  const { classes, answers } = await enumerate((await tableOf(rows)).rules, [])
  const [usual, ...others] = classes.map((eventClass) => linesOf(answers, eventClass))
  const blocks = others.map((lines, index) => {
    const differing = lines.filter((line, position) => line !== usual?.[position])
    const title = titleOf(classes[index + 1] as EventClass)
    return [`${title}: ${lines.length - differing.length} as above, ${differing.length} not`, ...differing]
  })
  const all = [[`${titleOf(classes[0] as EventClass)}: ${usual?.length}`, ...(usual ?? [])], ...blocks]
  return [...all.map((lines) => lines.join('\n  ')), `${answers.length} in all`].join('\n')
}

function linesOf(answers: readonly Answer[], eventClass: EventClass): string[] {
  return answers
    .filter((answer) => answer.eventClass === eventClass)
    .map(({ rule, situation }) => {
      const verdict = rule === null ? null : verdictOf(rule, situation)
      const outcome = verdict === null ? 'undecided' : `${describeVerdict(verdict)}, rule "${verdict.ruleId}"`
      return `${describeSituation(situation)}: ${outcome}`
    })
}

function titleOf({ members }: EventClass): string {
  return members.join(', ')
}

// Beside the test instead of in a folder at the top. `make rules-accept` writes it anew.
t.snapshotFile = new URL('outcomes.snapshot.cjs', import.meta.url).pathname

t.test('the rule table decides every situation as it was accepted', async (t) => {
  const shipped = readFileSync(new URL('../../../rules/dispatch.csv', import.meta.url), 'utf8')
  const rows = shipped.trim().split('\n').slice(1)
  t.matchSnapshot(await outcomesOf(rows), 'outcomes (make rules-accept takes the new ones)')
})

t.test('a rule that names event types adds only the lines that differ, and they sum up', async (t) => {
  const usual = (await outcomesOf(DEFAULT_ROWS)).split('\n')
  const muted = (
    await outcomesOf(above('opted-out', 'muted,claim.paid,found,no,SMS,,,SKIP,,muted,Y.'))
  ).split('\n')
  t.strictSame(usual.length, 1 + SITUATIONS.length + 1)
  t.strictSame(muted.slice(0, 38), usual.slice(0, 38))
  t.strictSame(muted.slice(38), [
    'claim.paid: 33 as above, 4 not',
    ...['no email on file, no', 'no email on file,', 'email on file, no', 'email on file,'].map(
      (onFile) =>
        `  party found, not opted out, prefers SMS, ${onFile} phone on file: SKIP (muted), rule "muted"`,
    ),
    '74 in all',
  ])
  const counts = muted.flatMap(
    (line) => /: (\d+) as above, (\d+) not$|^any other event type: (\d+)$/.exec(line) ?? [],
  )
  const sum = counts.reduce((total, count) => total + (/^\d+$/.test(count ?? '') ? Number(count) : 0), 0)
  t.equal(sum, 74, 'every situation of every class is accounted for')
})
