import type { Logger } from 'pino'
import type { Counter, Gauge } from 'prom-client'
import {
  ADDRESS_COUNT_MIN,
  DATA_FAULTS,
  type DataFault,
  type DataFaultCode,
  FAULTY_COUNT_MIN,
  SHARES,
} from '../decide/data-faults/data-faults.ts'
import { type AddressFinding, countAddresses, judgeAddresses } from '../decide/data-faults/judge-addresses.ts'
import { judgeEvents, judgeParties } from '../decide/data-faults/judge-events.ts'
import { ADDRESSES, type Address } from '../decide/party/channel.ts'
import type { Status } from '../model/log/status.ts'
import type { Notice } from '../model/service-status.ts'
import { counted } from '../text/count.ts'
import { type Counters, OTHER_CASE, OTHER_EVENT_TYPE } from './counters.ts'

/**
 * Minimum counts. `first`: for any judgement; `judged`: unless the first ones have a fault; `alerted`: for an alert, not just a log
 * line.
 */
interface Limits {
  readonly first: number
  readonly judged: number
  readonly alerted: number
}
const EVENT_LIMITS: Limits = { first: FAULTY_COUNT_MIN, judged: 10, alerted: 10 }
const ANSWER_LIMITS: Limits = {
  first: ADDRESS_COUNT_MIN,
  judged: ADDRESS_COUNT_MIN,
  alerted: ADDRESS_COUNT_MIN,
}
/** Number of messages for which a share is judged; until then the newest are added up. */
const WINDOW_COUNT = 50

const REPEATED_ID = 'repeated-id'

const LOOKS_WRONG = 'the data looks wrong'
const LOOKS_RIGHT = 'the data looks right again'

/** Messages since the last judgement of ids. */
interface CountedIds {
  readonly duplicates: number
  readonly messages: number
  /** True if the fault is already logged. */
  readonly isLogged: boolean
  /** The fault by the last judgement. */
  readonly fault: string | null
}
const NO_IDS: CountedIds = { duplicates: 0, messages: 0, isLogged: false, fault: null }

function toNotice(subject: string, code: DataFaultCode, detail: string): Notice {
  return { subject, text: `${LOOKS_WRONG}: ${detail}`, remedy: DATA_FAULTS[code] }
}

/** What the minute brought for one subject. */
interface Fresh {
  /** A topic or an address. */
  readonly subject: string
  readonly noun: string
  readonly limits: Limits
  readonly counted: readonly CountedEvents[]
  readonly isClean: boolean
  readonly isDoubtful: (counted: CountedEvents) => boolean
  readonly findFaults: (counts: readonly CountedEvents[]) => DataFault[]
}

interface CountedEvents {
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  readonly value: number
}

/** Events of a topic, or answers for an address, since the last judgement. */
interface Window {
  /** Or the address. */
  readonly topic: string
  counted: readonly CountedEvents[]
  /** Null: not judged yet. */
  faults: readonly DataFault[] | null
  /** No message was rejected meanwhile, and few were duplicates. */
  isClean: boolean
}

/**
 * `log` logs the counts since its last call: rejected messages by code, and FAILED and SKIPPED rows by rule. It also logs the begin
 * and end of faults of a topic's events or of an address; for the first events, also faults that may be chance. `notices` returns
 * the present faults.
 */
export function createMinutely(
  { rejected, outcomes, events, fields, addresses, duplicates }: Counters,
  dataFaults: Gauge<'fault' | 'topic'>,
) {
  const readNew = [rejected, outcomes, events, fields, addresses, duplicates].map(sinceLast)
  const windows = new Map<string, Window>()
  let ids = NO_IDS

  function judge(log: Logger, fresh: Fresh): void {
    const { subject: topic, noun, limits } = fresh
    // A topic may have the name of an address.
    const key = `${noun} ${topic}`
    const window = windows.get(key) ?? { topic, counted: [], faults: null, isClean: true }
    windows.set(key, window)
    window.counted = [...window.counted, ...fresh.counted]
    window.isClean &&= fresh.isClean
    const count = countJudged(window.counted)
    if (count < (window.faults === null ? limits.first : limits.judged)) return
    const possible = fresh.findFaults(window.counted)
    const found = possible.filter(({ isSure }) => isSure)
    if (count < limits.judged && found.length === 0) return
    if (window.faults === null && found.length === 0) {
      // Only some of a batch's events have their fields examined.
      const kinds = [...Map.groupBy(window.counted, ({ labels }) => labels.field).values()]
      const isMostlySound = (kind: readonly CountedEvents[]) =>
        sum(kind.filter(fresh.isDoubtful)) * 2 <= sum(kind)
      if (window.isClean && kinds.every(isMostlySound) && possible.length === 0)
        log.info({ topic, count }, `the first ${noun} look right`)
      for (const { code, detail } of possible)
        log.info(
          { fault: code, topic, remedy: DATA_FAULTS[code] },
          `the first ${noun} may be wrong: ${detail}`,
        )
    }
    const before = window.faults ?? []
    const isIn = (faults: readonly DataFault[], code: DataFaultCode) =>
      faults.some((fault) => fault.code === code)
    for (const { code, detail } of found) {
      // An alert must not follow from the first few alone.
      if (count >= limits.alerted) dataFaults.set({ fault: code, topic }, 1)
      if (!isIn(before, code))
        log.warn({ fault: code, topic, remedy: DATA_FAULTS[code] }, `${LOOKS_WRONG}: ${detail}`)
    }
    const isShare = before.some(({ code }) => SHARES.includes(code))
    if (found.length === 0 && count < WINDOW_COUNT && (isShare || before.length === 0)) {
      window.faults ??= []
      return
    }
    for (const { code } of before) {
      if (isIn(found, code)) continue
      dataFaults.set({ fault: code, topic }, 0)
      log.info({ fault: code, topic }, LOOKS_RIGHT)
    }
    window.faults = found
    if (found.length === 0 || count >= limits.alerted) window.counted = []
  }

  /** Duplicates are not counted by topic, so all topics are judged together. */
  function judgeIds(log: Logger, duplicateCount: number, messageCount: number): void {
    ids = {
      ...ids,
      duplicates: ids.duplicates + duplicateCount,
      messages: ids.messages + messageCount,
    }
    if (ids.messages < EVENT_LIMITS.judged) return
    const isFault = ids.duplicates * 2 > ids.messages
    const detail = `${ids.duplicates} of ${counted(ids.messages, 'message')} were duplicates and notified nobody`
    const about = { fault: REPEATED_ID, topic: '' }
    if (isFault && !ids.isLogged)
      log.warn({ ...about, remedy: DATA_FAULTS[REPEATED_ID] }, `${LOOKS_WRONG}: ${detail}`)
    if (ids.messages < WINDOW_COUNT) {
      ids = { ...ids, isLogged: ids.isLogged || isFault }
      return
    }
    if (isFault || ids.fault !== null) dataFaults.set(about, isFault ? 1 : 0)
    if (!isFault && ids.isLogged) log.info(about, LOOKS_RIGHT)
    ids = { ...NO_IDS, isLogged: isFault, fault: isFault ? detail : null }
  }

  const notices = (): readonly Notice[] => [
    ...(ids.fault === null ? [] : [toNotice(REPEATED_ID, REPEATED_ID, ids.fault)]),
    ...[...windows.values()].flatMap(({ topic, faults }) =>
      (faults ?? []).map(({ code, detail }) => toNotice(`${code} of ${topic}`, code, detail)),
    ),
  ]

  const logMinute = async (log: Logger): Promise<void> => {
    const [
      newRejected = [],
      newOutcomes = [],
      newEvents = [],
      newFields = [],
      newAddresses = [],
      newDuplicates = [],
    ] = await Promise.all(readNew.map((readCounts) => readCounts()))
    // Few events have a text with a reason, and few members are told by phone, so all events since the start count.
    const { values: allFields } = await fields.get()
    const { values: allAddresses } = await addresses.get()
    const warn = (counts: readonly CountedEvents[], label: string, noun: string, text: string) => {
      if (counts.length > 0)
        log.warn({ [label]: totals(counts, label) }, `${counted(sum(counts), noun)} ${text}`)
    }
    const ofStatus = (wanted: Status) => newOutcomes.filter(({ labels }) => labels.status === wanted)
    warn(newRejected, 'code', 'message', 'rejected in the last minute: see `rejected list`')
    warn(ofStatus('FAILED'), 'rule', 'event', 'FAILED in the last minute, to be retried: see `log`')
    warn(ofStatus('SKIPPED'), 'rule', 'event', 'SKIPPED in the last minute: see `log --not-told`')
    const duplicateCount = sum(newDuplicates)
    const messageCount = duplicateCount + sum(newEvents) + sum(newRejected)
    const areDuplicates = duplicateCount * 2 > messageCount
    const isClean = newRejected.length === 0 && !areDuplicates
    judgeIds(log, duplicateCount, messageCount)
    for (const [topic, ofTopic] of Map.groupBy(newEvents, ({ labels }) => labels.topic as string))
      judge(log, {
        subject: topic,
        noun: 'events of a topic',
        limits: EVENT_LIMITS,
        counted: [...ofTopic, ...newFields.filter(({ labels }) => labels.topic === topic)],
        isClean,
        isDoubtful: isDoubtfulEvent,
        findFaults: (counts) => findEventFaults(topic, counts, allFields),
      })
    for (const address of ADDRESSES) {
      const isOfAddress = ({ labels }: CountedEvents) => labels.address === address
      judge(log, {
        subject: address,
        noun: 'answers with this address',
        limits: ANSWER_LIMITS,
        counted: newAddresses.filter(isOfAddress),
        isClean,
        isDoubtful: ({ labels }) => labels.found !== 'address',
        findFaults: (counts) => findAddressFaults(address, counts, allAddresses.filter(isOfAddress)),
      })
    }
  }

  return { log: logMinute, notices }
}

/** @param allFields those of all topics since the start */
function findEventFaults(
  topic: string,
  newest: readonly CountedEvents[],
  allFields: readonly CountedEvents[],
): DataFault[] {
  const events = judgeEvents(topic, {
    eventCount: countJudged(newest),
    withoutParty: sumWhere(newest, 'party', 'missing'),
    withoutText: sumWhere(newest, 'event_type', OTHER_EVENT_TYPE),
    inOtherCase: sumWhere(newest, 'event_type', OTHER_CASE),
    countOf: (field, finding) => {
      const counts = (field === 'reason' ? allFields : newest).filter(
        ({ labels }) => labels.topic === topic && labels.field === field,
      )
      return sumWhere(counts, 'found', finding)
    },
  })
  return [
    ...events,
    ...judgeParties(topic, sumWhere(newest, 'party', 'found'), sumWhere(newest, 'party', 'not found')),
  ]
}

/** @param ever the answers for this address since the start */
function findAddressFaults(
  address: Address,
  newest: readonly CountedEvents[],
  ever: readonly CountedEvents[],
): DataFault[] {
  const isNeeded = ({ labels }: CountedEvents) => labels.needed === 'yes'
  const count = (counts: readonly CountedEvents[]) =>
    countAddresses((finding: AddressFinding) => sumWhere(counts, 'found', finding))
  return judgeAddresses(address, {
    newest: count(newest),
    needed: count(newest.filter(isNeeded)),
    ever: count(ever),
    everNeeded: count(ever.filter(isNeeded)),
  })
}

/** Returns a function that reads a counter's increases since the last call. */
function sinceLast(counter: Pick<Counter, 'get'>) {
  let before = new Map<string, number>()
  return async (): Promise<CountedEvents[]> => {
    const { values } = await counter.get()
    const keyed = values.map(({ labels, value }) => ({ labels, value, key: JSON.stringify(labels) }))
    const grown = keyed.map(({ labels, value, key }) => ({ labels, value: value - (before.get(key) ?? 0) }))
    before = new Map(keyed.map(({ key, value }) => [key, value]))
    return grown.filter(({ value }) => value > 0)
  }
}

/** The number of events or answers, without their fields. */
function countJudged(counts: readonly CountedEvents[]): number {
  return sum(counts.filter(({ labels }) => labels.field === undefined))
}

/** True for an event of which no member was told, and for a field with repeated values. */
function isDoubtfulEvent({ labels }: CountedEvents): boolean {
  return labels.field === undefined
    ? labels.status !== 'SENT' || labels.party === 'missing'
    : labels.found === 'burst' || labels.found === 'repeated' || labels.found === 'event id'
}

function sum(counts: readonly CountedEvents[]): number {
  return counts.reduce((total, { value }) => total + value, 0)
}

/** The sum of the counts whose label has this value. */
function sumWhere(counts: readonly CountedEvents[], label: string, value: string): number {
  return sum(counts.filter(({ labels }) => labels[label] === value))
}

function totals(counts: readonly CountedEvents[], label: string): Record<string, number> {
  const groups = Map.groupBy(counts, ({ labels }) => String(labels[label]))
  return Object.fromEntries([...groups].map(([name, group]) => [name, sum(group)]))
}
