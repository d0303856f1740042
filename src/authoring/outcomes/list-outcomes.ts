import { describeResult } from '../../service/decide/decision/result.ts'
import { isPattern } from '../../service/decide/event/event-type-pattern.ts'
import { CHANNEL_KINDS, CHANNELS, type Channel, nameOfChannel } from '../../service/decide/party/channel.ts'
import { UNNAMED } from '../../service/decide/rules/event-classes.ts'
import type { Enumeration } from '../../service/decide/rules/first-match.ts'
import { decideByRule } from '../../service/decide/rules/rule.ts'
import { describeSituation } from '../../service/decide/rules/situations.ts'
import { findConflict } from '../templates/parse.ts'
import type { Preview, PreviewedText } from '../templates/preview.ts'
import { describeSms } from '../templates/sms-length.ts'

const ABOUT = `# What the rule table decides in every situation, and the texts as members read them, as they were accepted:
# "make rules-accept" writes it. An event type has outcomes only where they differ from those of any other event type.
# The reference and the reason in the texts are examples.`

/**
 * The outcome of every situation, and each previewed text: first any other event type, then a section for each event type. Empty
 * sections are kept, so that changes to two event types never conflict in a merge.
 */
export function listOutcomes(enumeration: Enumeration, previews: readonly Preview[]): string {
  const { classes, situations, answers, findPosition } = enumeration
  const listSituations = (eventType: string) =>
    situations.map((situation) => {
      const rule = answers[findPosition({ eventType, ...situation })]?.rule ?? null
      const result = decideByRule(rule, situation)
      return `  ${describeSituation(situation)}: ${describeResult(result)}, rule "${result.ruleId}"`
    })
  const named = classes.flatMap(({ members, representative }) =>
    members.map((name) => [name, representative] as const),
  )
  const texts = new Map(previews.map((preview) => [preview.eventType, preview.texts.flatMap(formatText)]))
  const representatives = new Map([
    ...previews.map(({ eventType }) => [eventType, eventType] as const),
    ...named,
  ])
  const usual = listSituations(representatives.get(UNNAMED) as string)
  const section = (name: string, outcomes: readonly string[]) =>
    [name, ...outcomes, ...(texts.get(name) ?? [])].join('\n')
  representatives.delete(UNNAMED)
  const sections = [...representatives.keys()].sort().map((name) => {
    const outcomes = listSituations(representatives.get(name) as string)
    return section(
      name,
      outcomes.filter((line, position) => line !== usual[position]),
    )
  })
  return `${[ABOUT, section(UNNAMED, usual), ...sections].join('\n\n')}\n`
}

const WITH_SUBJECT = joinNames((channel) => CHANNEL_KINDS[channel].hasSubject)
const WITHOUT_SUBJECT = joinNames((channel) => !CHANNEL_KINDS[channel].hasSubject)

function joinNames(isMeant: (channel: Channel) => boolean): string {
  return CHANNELS.filter(isMeant).map(nameOfChannel).join(' and ')
}

function formatText({ withReason, subject, body, sms }: PreviewedText): string[] {
  const variant = withReason === null ? '' : `, ${withReason ? 'with' : 'without'} a reason`
  return [
    `  by ${WITH_SUBJECT}${variant}:`,
    ...[`Subject: ${subject}`, '', ...body.split('\n')].map((line) => `  | ${line}`.trimEnd()),
    `  by ${WITHOUT_SUBJECT}${variant}: the same without the subject, ${describeSms(sms)}`,
  ]
}

/** Words of earlier versions. */
const FORMER_WORDS: ReadonlyMap<string, string> = new Map([
  ['prefers EMAIL', 'prefers email'],
  ['prefers SMS', 'prefers text message'],
  ['prefers IN_APP', 'prefers app message'],
  ['SEND by EMAIL', 'SEND by email'],
  ['SEND by SMS', 'SEND by text message'],
  ['SEND by IN_APP', 'SEND by app message'],
  ['by EMAIL and IN_APP', 'by email and app message'],
  ['by SMS', 'by text message'],
])

/** Accepted outcomes in the words of this version. Reasons, rules and texts are the company's own words and stay. */
export function rewordOutcomes(accepted: string): string {
  const lines = accepted
    .replaceAll('\r\n', '\n')
    .replace(/^(#.*\n)+/, `${ABOUT}\n`)
    .split('\n')
  return lines.map((line) => (/^ {2}[^ |]/.test(line) ? rewordLine(line) : line)).join('\n')
}

function rewordLine(line: string): string {
  const [situation = '', result = '', ...rest] = line.split(': ')
  const reword = (words: string) => FORMER_WORDS.get(words) ?? words
  const facts = situation.replace(/[^ ,:][^,:]*/g, reword)
  return line === situation ? facts : [facts, result.replace(/^[^,]+/, reword), ...rest].join(': ')
}

/** The event types with a section of their own. */
export function acceptedEventTypes(text: string): string[] {
  const headings = text.split(/\r\n|\n/).filter((line) => /^[^#\s]/.test(line))
  return headings.filter(
    (heading) =>
      heading !== UNNAMED && !isPattern(heading) && findConflict(heading) === null && heading !== '=======',
  )
}

/** Outcomes and texts in only one of two lists, each with its section. Ignores empty sections and former words. */
export function compareOutcomes(accepted: string, actual: string): { gone: string[]; fresh: string[] } {
  const [before, after] = [parseEntries(rewordOutcomes(accepted)), parseEntries(actual)]
  return {
    gone: before.filter((entry) => !after.includes(entry)),
    fresh: after.filter((entry) => !before.includes(entry)),
  }
}

/** Example: `claim.paid: party found, …: SEND by email, rule "email"`. A text is one entry. */
function parseEntries(text: string): string[] {
  const entries: string[] = []
  let section = ''
  for (const line of text.split(/\r\n|\n/)) {
    if (line.startsWith('  |')) entries.push(`${entries.pop()}\n${line}`)
    else if (line.startsWith('  ')) entries.push(`${section}: ${line.trim()}`)
    else if (!line.startsWith('#')) section = line
  }
  return entries
}
