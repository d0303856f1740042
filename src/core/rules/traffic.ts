import { CHANNELS } from '../decision/channel.ts'
import type { Facts } from '../decision/facts.ts'
import { PARTY_STATES } from '../decision/party-state.ts'
import { csvLine } from '../text/csv.ts'
import type { DecisionGroup } from './decision-group.ts'
import type { Change, RuleTableDiff } from './diff.ts'
import { CellFault, TrafficError } from './errors.ts'
import { oneOf, orAny, parseYesNo } from './parse-cells.ts'
import { readSheet } from './read-sheet.ts'
import { situationIndex } from './situations.ts'
import { WHEN_COLUMNS } from './when.ts'

/** How many events of a type were in a situation, of a time. Nothing tells of a person. */
export interface TrafficLine {
  readonly facts: Facts
  readonly count: number
}

/** Real traffic, by which changes are weighed. */
export interface Traffic {
  readonly lines: readonly TrafficLine[]
  readonly total: number
}

const COLUMNS = [...WHEN_COLUMNS, 'events'] as const
/** Stands for event types that nobody here knows: anyone can invent them, of a person's name too. */
const OTHER = '(other)'

/** Adds up groups of recorded decisions by situation and event type, of which `known` ones are told apart. */
export function createTrafficCount(known: readonly string[]) {
  const lines = new Map<string, { facts: Facts; count: number }>()
  const eventTypes = new Set(known)
  return {
    add: ({ facts: recorded, count }: Pick<DecisionGroup, 'facts' | 'count'>): void => {
      const facts = {
        ...recorded,
        eventType: eventTypes.has(recorded.eventType) ? recorded.eventType : OTHER,
      }
      const key = `${situationIndex(facts)} ${facts.eventType}`
      const line = lines.get(key)
      if (line === undefined) lines.set(key, { facts, count })
      else line.count += count
    },
    lines: (): readonly TrafficLine[] =>
      [...lines.values()].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1)),
  }
}

/** The lines as CSV, under the headings of the rule table. */
export function trafficToCsv(lines: readonly TrafficLine[]): string {
  const yesNo = (fact: boolean | null) => (fact === null ? null : fact ? 'yes' : 'no')
  return [
    csvLine(COLUMNS),
    ...lines.map(({ facts, count }) =>
      csvLine([
        facts.eventType,
        facts.party,
        yesNo(facts.optedOut),
        facts.preferredChannel,
        yesNo(facts.emailOnFile),
        yesNo(facts.phoneOnFile),
        count,
      ]),
    ),
  ].join('')
}

/** Reads what `trafficToCsv` writes, however a spreadsheet saved it. Throws TrafficError with every fault. */
export function loadTraffic(csvText: string): Traffic {
  const { rows, faults } = readSheet(csvText, COLUMNS, 'count', ({ read }) => ({
    facts: {
      eventType: read('event type', String),
      party: read('party', oneOf(PARTY_STATES)),
      optedOut: read('opted out', parseYesNo),
      preferredChannel: read('preferred channel', oneOf(CHANNELS)),
      emailOnFile: read('email on file', orAny(parseYesNo)),
      phoneOnFile: read('phone on file', orAny(parseYesNo)),
    },
    count: read('events', parseCount),
  }))
  if (faults.length > 0) throw new TrafficError(faults)
  const lines = rows as readonly TrafficLine[]
  return { lines, total: lines.reduce((sum, { count }) => sum + count, 0) }
}

/** How many events of this traffic a change concerns. */
export function createWeights(
  { classes, classOf }: RuleTableDiff,
  { lines }: Traffic,
): (change: Change) => number {
  const counts = new Map<string, number>()
  for (const { facts, count } of lines) {
    const key = `${classOf(facts.eventType)} ${situationIndex(facts)}`
    counts.set(key, (counts.get(key) ?? 0) + count)
  }
  return ({ situation, eventClasses }) =>
    eventClasses.reduce(
      (sum, eventClass) =>
        sum + (counts.get(`${classes.indexOf(eventClass)} ${situationIndex(situation)}`) ?? 0),
      0,
    )
}

function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new CellFault(`"${text}" is not a number of events`)
  return Number(text)
}

function keyOf({ facts }: TrafficLine): string {
  return `${facts.eventType} ${String(situationIndex(facts)).padStart(2, '0')}`
}
