import type { Logger } from 'pino'
import type { Counter, Gauge } from 'prom-client'
import {
  countAddresses,
  DATA_FAULTS,
  type DataFault,
  type DataFaultCode,
  FAULTY_COUNT_MIN,
  judgeAddresses,
  judgeEvents,
  judgeParties,
} from '../decide/data-fault.ts'
import { ADDRESSES } from '../decide/party/channel.ts'
import type { Status } from '../model/log/status.ts'
import { counted } from '../text/count.ts'
import { type Counters, OTHER_EVENT_TYPE } from './counters.ts'

/** Fewer events or answers are judged only if they are the first and all have a fault. */
const JUDGED_COUNT_MIN = 10
/** A share is judged of this many, and until then the newest are added up. */
const WINDOW_COUNT = 50

const DUPLICATES =
  'more than half of the messages of the last minute had the event id of a logged event, and nobody was told: right if ' +
  'checkpoints were moved back or a topic was recreated; else "eventId" in rules/envelope.json names something that several ' +
  'events share'

/** Faults of some, not all: a few that are right do not end them. */
const SHARES: readonly DataFaultCode[] = ['not-found']

interface Counted {
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  readonly value: number
}

/** Events of a topic, or answers for an address, since they were judged last. */
interface Window {
  counted: readonly Counted[]
  /** Null: not judged yet. */
  faults: readonly DataFaultCode[] | null
  /** No message was rejected meanwhile, and few were duplicates. */
  isClean: boolean
}

/**
 * Returns a function that logs what was counted since its last call: rejected messages by code, FAILED and SKIPPED rows by rule,
 * and what looks wrong about the events of a topic or about an address, when it begins and when it ends.
 */
export function createMinutely(
  { rejected, outcomes, events, addresses, duplicates }: Counters,
  dataFaults: Gauge<'fault' | 'topic'>,
) {
  const read = [rejected, outcomes, events, addresses, duplicates].map(sinceLast)
  const windows = new Map<string, Window>()
  let isCleanMinute = true

  function judge(
    log: Logger,
    topic: string,
    noun: string,
    fresh: readonly Counted[],
    isDoubtful: (one: Counted) => boolean,
    faultsOf: (all: readonly Counted[]) => DataFault[],
  ): void {
    const window = windows.get(topic) ?? { counted: [], faults: null, isClean: true }
    windows.set(topic, window)
    window.counted = [...window.counted, ...fresh]
    window.isClean &&= isCleanMinute
    const count = sum(window.counted)
    if (count < (window.faults === null ? FAULTY_COUNT_MIN : JUDGED_COUNT_MIN)) return
    const found = faultsOf(window.counted)
    if (count < JUDGED_COUNT_MIN && found.length === 0) return
    const looksRight = window.isClean && sum(window.counted.filter(isDoubtful)) * 2 <= count
    if (window.faults === null && found.length === 0 && looksRight)
      log.info({ topic, count }, `the first ${noun} look right`)
    for (const { code, detail } of found) {
      // An alert must not follow from the first few events alone.
      if (count >= JUDGED_COUNT_MIN) dataFaults.set({ fault: code, topic }, 1)
      if (!window.faults?.includes(code))
        log.warn({ fault: code, topic, remedy: DATA_FAULTS[code] }, `the data looks wrong: ${detail}`)
    }
    const codes = found.map(({ code }) => code)
    const isShare = window.faults?.some((code) => SHARES.includes(code)) ?? false
    if (codes.length === 0 && count < WINDOW_COUNT && (isShare || (window.faults?.length ?? 0) === 0)) {
      window.faults ??= []
      return
    }
    for (const code of window.faults ?? []) {
      if (codes.includes(code)) continue
      dataFaults.set({ fault: code, topic }, 0)
      log.info({ fault: code, topic }, 'the data looks right again')
    }
    window.counted = []
    window.faults = codes
  }

  return async (log: Logger): Promise<void> => {
    const [newRejected = [], newOutcomes = [], newEvents = [], newAddresses = [], newDuplicates = []] =
      await Promise.all(read.map((one) => one()))
    const warn = (all: readonly Counted[], label: string, noun: string, text: string) => {
      if (all.length > 0) log.warn({ [label]: totals(all, label) }, `${counted(sum(all), noun)} ${text}`)
    }
    const ofStatus = (wanted: Status) => newOutcomes.filter(({ labels }) => labels.status === wanted)
    warn(newRejected, 'code', 'message', 'rejected in the last minute: see `rejected list`')
    warn(ofStatus('FAILED'), 'rule', 'event', 'FAILED in the last minute, to be retried: see `log`')
    warn(ofStatus('SKIPPED'), 'rule', 'event', 'SKIPPED in the last minute: see `log --not-told`')
    const duplicateCount = sum(newDuplicates)
    const messageCount = duplicateCount + sum(newEvents) + sum(newRejected)
    const areDuplicates = duplicateCount * 2 > messageCount
    isCleanMinute = newRejected.length === 0 && !areDuplicates
    if (areDuplicates && messageCount >= JUDGED_COUNT_MIN)
      log.warn({ duplicateCount, messageCount }, DUPLICATES)
    for (const [topic, fresh] of Map.groupBy(newEvents, ({ labels }) => labels.topic as string))
      judge(log, topic, 'events of a topic', fresh, isSkippedOrPartyless, (all) => [
        ...judgeEvents(topic, {
          eventCount: sum(all),
          withoutParty: sumOf(all, 'party', 'missing'),
          withoutText: sumOf(all, 'event_type', OTHER_EVENT_TYPE),
          withoutReference: sumOf(all, 'reference', 'missing'),
        }),
        ...judgeParties(topic, sumOf(all, 'party', 'found'), sumOf(all, 'party', 'not found')),
      ])
    for (const address of ADDRESSES)
      judge(
        log,
        address,
        'answers with this address',
        newAddresses.filter(({ labels }) => labels.address === address),
        ({ labels }) => labels.found !== 'address',
        (all) =>
          judgeAddresses(
            address,
            countAddresses((finding) => sumOf(all, 'found', finding)),
          ),
      )
  }
}

/** Returns a function that reads what a counter has counted since the last call. */
function sinceLast(counter: Pick<Counter, 'get'>) {
  let before = new Map<string, number>()
  return async (): Promise<Counted[]> => {
    const { values } = await counter.get()
    const keyed = values.map(({ labels, value }) => ({ labels, value, key: JSON.stringify(labels) }))
    const grown = keyed.map(({ labels, value, key }) => ({ labels, value: value - (before.get(key) ?? 0) }))
    before = new Map(keyed.map(({ key, value }) => [key, value]))
    return grown.filter(({ value }) => value > 0)
  }
}

function isSkippedOrPartyless({ labels }: Counted): boolean {
  return labels.status === 'SKIPPED' || labels.party === 'missing'
}

function sum(all: readonly Counted[]): number {
  return all.reduce((total, { value }) => total + value, 0)
}

/** The sum of those whose label has a value. */
function sumOf(all: readonly Counted[], label: string, value: string): number {
  return sum(all.filter(({ labels }) => labels[label] === value))
}

function totals(all: readonly Counted[], label: string): Record<string, number> {
  const groups = Map.groupBy(all, ({ labels }) => String(labels[label]))
  return Object.fromEntries([...groups].map(([name, group]) => [name, sum(group)]))
}
