import { describeResult } from '../../../src/core/decision/rule-result.ts'
import { type Answer, enumerate } from '../../../src/core/rules/enumerate-situations.ts'
import type { EventClass } from '../../../src/core/rules/event-classes.ts'
import { resultOf } from '../../../src/core/rules/rule.ts'
import { describeSituation } from '../../../src/core/rules/situations.ts'
import { tableOf } from './default-table.ts'

/** One line for each situation of event types that no rule names; of all others, those that differ from them. */
export async function outcomesOf(rows: readonly string[]): Promise<string> {
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
      const result = rule === null ? null : resultOf(rule, situation)
      const outcome = result === null ? 'undecided' : `${describeResult(result)}, rule "${result.ruleId}"`
      return `${describeSituation(situation)}: ${outcome}`
    })
}

function titleOf({ members }: EventClass): string {
  return members.join(', ')
}
