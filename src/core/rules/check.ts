import { describeClasses, type EventClass } from './classes.ts'
import type { Answer } from './enumerate.ts'
import type { Rule } from './rule.ts'
import { describeSituation, type Situation } from './situations.ts'

/**
 * The situations that no rule covers and those in which a rule sends to nobody: one sentence for each, with the event
 * types that it is wrong for. `answers` must be those of all classes.
 */
export function findFaults(answers: readonly Answer[]): string[] {
  const classes = [...new Set(answers.map(({ eventClass }) => eventClass))]
  const affected = new Map<string, EventClass[]>()
  for (const { eventClass, situation, rule } of answers) {
    const fault = faultOf(rule, situation)
    if (fault === null) continue
    const sentence = `${fault}: ${describeSituation(situation)}`
    const eventClasses = affected.get(sentence)
    if (eventClasses === undefined) affected.set(sentence, [eventClass])
    else eventClasses.push(eventClass)
  }
  return [...affected].map(
    ([sentence, eventClasses]) => `${sentence} (${describeClasses(eventClasses, classes)})`,
  )
}

function faultOf(rule: Rule | null, situation: Situation): string | null {
  if (rule === null) return 'no rule covers'
  if (rule.outcome !== 'SEND') return null
  const channel = rule.sendBy ?? situation.preferredChannel
  const sends = `row ${rule.row}: rule "${rule.id}" sends by ${channel}`
  if (situation.party !== 'found') return `${sends} without a found party`
  if (channel === 'EMAIL' && !situation.emailOnFile) return `${sends} without an email on file`
  if (channel === 'SMS' && !situation.phoneOnFile) return `${sends} without a phone on file`
  return null
}
