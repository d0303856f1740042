import { Counter, Histogram, type Registry } from 'prom-client'
import type { Attempt } from '../decide/attempt/attempt.ts'
import type { Batch, CommitResult } from '../decide/attempt/batch.ts'
import type { Deliveries, Delivery, OutgoingMessage } from '../decide/attempt/delivery.ts'
import type { RunStage, StageName, Stages } from '../decide/attempt/stage.ts'
import { type AddressPointers, createAddressFinder } from '../decide/data-faults/find-addresses.ts'
import { createFieldFinder } from '../decide/data-faults/find-fields.ts'
import { REJECTIONS } from '../decide/event/rejection.ts'
import { ADDRESSED_CHANNELS, CHANNELS } from '../decide/party/channel.ts'
import { type Contacts, countByState } from '../decide/party/contact.ts'
import type { Rule } from '../decide/rules/rule.ts'
import { STATUS_OF } from '../model/log/status.ts'

/** The event type of a metric for types without a template. */
export const OTHER_EVENT_TYPE = 'other'
/** The same, for types that a text or a rule names in another letter case. */
export const OTHER_CASE = 'other case'

const ANSWERS = ['accepted', 'refused', 'unknown', 'deferred'] as const

/** `moved`: another consumer had taken over; `failed`: nothing was written, and the batch is retried. */
const BATCH_RESULTS = ['committed', 'moved', 'failed'] as const

const TIMED_STAGES = ['look_up', 'contacts', 'commit', 'send'] as const satisfies readonly StageName[]

/** Number of a batch's events whose fields and addresses are judged: a mapping's fault affects nearly all events. */
const JUDGED_COUNT_MAX = 50

const BATCH_MESSAGES = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000]
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Counters and histograms; gauges.ts has the other metrics. */
export function createCounters(registers: Registry[]) {
  function counter<Label extends string = never>(name: string, help: string, labelNames: Label[] = []) {
    return new Counter({ name: `notifications_${name}`, help, labelNames, registers })
  }
  function histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ) {
    return new Histogram({ name: `notifications_${name}`, help, buckets, labelNames, registers })
  }
  return {
    outcomes: counter('outcomes_total', 'Log rows written for consumed events, by the rule that decided', [
      'status',
      'channel',
      'rule',
    ]),
    events: counter(
      'events_total',
      'Log rows written for consumed events, by event type and state of the party; types without a template count as "other", or as "other case" if only the letter case differs',
      ['event_type', 'status', 'topic', 'party'],
    ),
    fields: counter(
      'event_fields_total',
      'Fields of at most 50 events of each batch, by finding: "burst" if most of the newest events have the same value, "repeated" if they have had it for longer than a burst lasts',
      ['topic', 'field', 'found'],
    ),
    duplicates: counter('duplicates_total', 'Messages whose event id was already logged'),
    tombstones: counter('tombstones_total', 'Messages without a value, which are not events'),
    rejected: counter(
      'rejected_messages_total',
      'Messages that are not valid events, kept in rejected_message',
      ['code'],
    ),
    lost: counter(
      'lost_messages_total',
      "Messages that the broker's retention deleted before they were processed",
      ['topic'],
    ),
    rowsLost: counter(
      'rows_lost_total',
      'Messages within the offsets committed to Kafka whose rows the database has lost',
      ['topic'],
    ),
    batches: counter('batches_total', 'Batches of a partition; a failed one is retried', ['result']),
    restarts: counter(
      'batch_restarts_total',
      'Batches that were restarted after a serialization failure, a deadlock or an outdated plan',
    ),
    batchMessages: histogram('batch_messages', 'Messages in a batch', BATCH_MESSAGES),
    batchSeconds: histogram('batch_duration_seconds', 'Time from receiving a batch to its commit', SECONDS),
    stageSeconds: histogram(
      'stage_duration_seconds',
      'Duration of one stage of a batch; send is part of commit',
      SECONDS,
      ['stage'],
    ),
    responseSeconds: histogram(
      'http_response_duration_seconds',
      'Time from a request to its response, on both listeners; requests without a route have "none"',
      SECONDS,
      ['route', 'method', 'status'],
    ),
    sends: counter('sends_total', 'Messages for a sender, by its answer; only accepted ones count as sent', [
      'channel',
      'answer',
    ]),
    lookUps: counter('contact_lookups_total', 'Parties looked up in policy administration, by result', [
      'state',
    ]),
    addresses: counter(
      'contact_addresses_total',
      'Addresses of known parties, for at most 50 events of each batch, by finding, and whether the party is told by this address; an unchanged answer about a party does not count',
      ['address', 'found', 'needed'],
    ),
    retries: counter('retries_total', 'Retries of failed rows, by resulting status and deciding rule', [
      'status',
      'channel',
      'rule',
    ]),
    givenUp: counter('given_up_total', 'Failed rows that have had all their attempts'),
  }
}

export type Counters = ReturnType<typeof createCounters>

/** Starts counters at 0, so that the first increase counts as one. */
export function startAtZero(
  counters: Counters,
  topics: readonly string[],
  rules: readonly Pick<Rule, 'id' | 'outcome'>[],
): void {
  for (const result of BATCH_RESULTS) counters.batches.inc({ result }, 0)
  for (const topic of topics) for (const lost of [counters.lost, counters.rowsLost]) lost.inc({ topic }, 0)
  for (const code of Object.keys(REJECTIONS)) counters.rejected.inc({ code }, 0)
  for (const { id, outcome } of rules)
    for (const channel of CHANNELS)
      counters.outcomes.inc({ status: STATUS_OF[outcome], channel, rule: id }, 0)
  for (const channel of ADDRESSED_CHANNELS)
    for (const answer of ANSWERS) counters.sends.inc({ channel, answer }, 0)
  for (const stage of TIMED_STAGES) counters.stageSeconds.zero({ stage })
  for (const state of Object.keys(countByState(new Map()))) counters.lookUps.inc({ state }, 0)
}

/** Called at the end of a stage; the result is null if it failed. */
type Observe<Name extends StageName> = (
  input: Stages[Name]['input'],
  result: Stages[Name]['result'] | null,
  seconds: number,
) => void

/**
 * Returns a function that runs a stage of a batch or retry and counts its results, once per batch.
 *
 * @param eventTypes those with a template; all others are counted together
 * @param isInOtherCase whether a text or a rule names a type in another letter case
 * @param givesReason whether the text of an event type inserts the reason
 * @param addressPlaces of each address in an answer; none if policy administration has no such addresses
 * @param attemptCountMax attempts after which a failed row is given up
 */
export function countStages(
  counters: Counters,
  eventTypes: ReadonlySet<string>,
  isInOtherCase: (eventType: string) => boolean,
  givesReason: (eventType: string) => boolean,
  addressPlaces: AddressPointers,
  attemptCountMax: number,
): RunStage {
  const boundedEventType = ({ eventType }: Attempt) => {
    if (eventTypes.has(eventType)) return eventType
    return isInOtherCase(eventType) ? OTHER_CASE : OTHER_EVENT_TYPE
  }
  const findAddresses = createAddressFinder(addressPlaces)
  const finders = new Map<string, ReturnType<typeof createFieldFinder>>()
  const timed =
    (stage: (typeof TIMED_STAGES)[number]) => (_input: unknown, _result: unknown, seconds: number) =>
      counters.stageSeconds.observe({ stage }, seconds)
  const observers: { readonly [Name in StageName]: Observe<Name> } = {
    batch: (batch, result, seconds) => {
      counters.batches.inc({ result: result?.kind ?? 'failed' })
      counters.batchSeconds.observe(seconds)
      if (result?.kind === 'committed') countCommitted(batch, result)
    },
    look_up: timed('look_up'),
    contacts: (parties, contacts, seconds) => {
      timed('contacts')(parties, contacts, seconds)
      countContacts(counters, contacts)
    },
    commit: timed('commit'),
    send: (messages, deliveries, seconds) => {
      timed('send')(messages, deliveries, seconds)
      if (deliveries !== null) countSends(counters, messages, deliveries)
    },
    retry_contacts: (_input, contacts) => countContacts(counters, contacts),
    retry: (_input, result) => {
      countBy(counters.retries, result?.attempts ?? [], LABELS)
      countGivenUp(result?.attempts ?? [])
    },
  }

  function countGivenUp(attempts: readonly Attempt[]): void {
    const isGivenUp = ({ status, attemptCount }: Attempt) =>
      status === 'FAILED' && attemptCount >= attemptCountMax
    counters.givenUp.inc(attempts.filter(isGivenUp).length)
  }

  function countCommitted(batch: Batch, committed: Extract<CommitResult, { kind: 'committed' }>): void {
    const { lastOffset, inserted, rejected, tombstoneCount } = committed
    const count = batch.messages.filter(({ offset }) => offset <= lastOffset).length
    counters.batchMessages.observe(count)
    counters.tombstones.inc(tombstoneCount)
    counters.duplicates.inc(count - inserted.length - rejected.length - tombstoneCount)
    countBy(counters.outcomes, inserted, LABELS)
    countGivenUp(inserted)
    countBy(counters.events, inserted, [
      boundedEventType,
      ({ status }) => status,
      ({ origin }) => origin.topic,
      ({ decision }) => String(decision.facts.party),
    ])
    const judged = inserted.slice(-JUDGED_COUNT_MAX)
    countFields(batch, judged)
    countAddressFindings(judged)
    countBy(counters.rejected, rejected, [({ rejection }) => rejection.code])
  }

  function countFields({ topic, messages }: Batch, judged: readonly Attempt[]): void {
    const findFields = finders.get(topic) ?? createFieldFinder(givesReason)
    finders.set(topic, findFields)
    const offsets = new Set(judged.map(({ origin }) => origin.offset))
    const ofJudged = messages.filter(({ offset }) => offsets.has(offset))
    const timestamps = new Map(ofJudged.map(({ offset, timestampMs }) => [offset, timestampMs]))
    const events = judged.map(({ eventId, eventType, partyLocator, variables, origin }) => {
      const { locator = '', reason = null } = variables ?? {}
      const timestampMs = timestamps.get(origin.offset)
      return { eventId, eventType, partyLocator, reference: locator, reason, timestampMs }
    })
    countBy(counters.fields, findFields(events), [
      () => topic,
      ({ place }) => place,
      ({ finding }) => finding,
    ])
  }

  function countAddressFindings(judged: readonly Attempt[]): void {
    const members = judged.flatMap(({ partyLocator, contact, decision }) =>
      partyLocator === null || contact?.state !== 'found'
        ? []
        : [{ partyLocator, contact, preferredChannel: String(decision.facts.preferredChannel) }],
    )
    countBy(counters.addresses, findAddresses(members), [
      ({ place }) => place,
      ({ finding }) => finding,
      ({ isNeeded }) => (isNeeded ? 'yes' : 'no'),
    ])
  }

  return async (name, input, run) => {
    const startedMs = performance.now()
    let result: Awaited<ReturnType<typeof run>> | null = null
    try {
      result = await run()
      return result
    } finally {
      observers[name](input, result, (performance.now() - startedMs) / 1_000)
    }
  }
}

const LABELS: readonly LabelOf<Attempt>[] = [
  ({ status }) => status,
  ({ decision }) => decision.channel,
  ({ decision }) => decision.ruleId,
]

type LabelOf<Row> = (row: Row) => string

/** The number of rows by their labels, nested in the order of the labels: joining them to a key would cost more than counting. */
interface Tally {
  count: number
  readonly byLabel: Map<string, Tally>
}

/** Counts rows by their labels, which are in the counter's order. */
function countBy<Row>(
  counter: Pick<Counter, 'labels'>,
  rows: readonly Row[],
  labels: readonly LabelOf<Row>[],
): void {
  const total: Tally = { count: 0, byLabel: new Map() }
  for (const row of rows) {
    let tally = total
    for (const labelOf of labels) tally = tallyOf(tally, labelOf(row))
    tally.count++
  }
  addCounts(counter, total)
}

function tallyOf({ byLabel }: Tally, label: string): Tally {
  const known = byLabel.get(label)
  if (known !== undefined) return known
  const tally: Tally = { count: 0, byLabel: new Map() }
  byLabel.set(label, tally)
  return tally
}

function addCounts(
  counter: Pick<Counter, 'labels'>,
  { count, byLabel }: Tally,
  labels: readonly string[] = [],
): void {
  if (count > 0) counter.labels(...labels).inc(count)
  for (const [label, tally] of byLabel) addCounts(counter, tally, [...labels, label])
}

function countSends({ sends }: Counters, messages: readonly OutgoingMessage[], deliveries: Deliveries): void {
  const answerTo = ({ locator }: OutgoingMessage) => classifyDelivery(deliveries.get(locator))
  countBy(sends, messages, [({ channel }) => channel, answerTo])
}

function classifyDelivery(delivery: Delivery | undefined): (typeof ANSWERS)[number] {
  const { error, isUnknown, isDeferred } = delivery ?? { error: null }
  if (error === null) return 'accepted'
  return isDeferred ? 'deferred' : isUnknown ? 'unknown' : 'refused'
}

function countContacts({ lookUps }: Counters, contacts: Contacts | null): void {
  if (contacts === null) return
  for (const [state, count] of Object.entries(countByState(contacts))) lookUps.inc({ state }, count)
}
