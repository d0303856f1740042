import { ENVELOPE_MAP, readText } from '../../service/app/authored-files.ts'
import { withBrokers } from '../../service/app/clients.ts'
import { listAuthored } from '../../service/app/known-event-types.ts'
import { givesReason, readRuleFiles, TEMPLATE_EVENT_TYPES } from '../../service/app/rule-files.ts'
import type { Config } from '../../service/config/config.ts'
import type { Brokers, PartitionEnds } from '../../service/consume/brokers.ts'
import { READ_COMMITTED } from '../../service/consume/fetch-request.ts'
import { findRecordSet, readRecordSet } from '../../service/consume/records/record-set.ts'
import { UnreadableBatch } from '../../service/consume/records/unreadable.ts'
import {
  DATA_FAULTS,
  type DataFaultCode,
  FAULTY_COUNT_MIN,
} from '../../service/decide/data-faults/data-faults.ts'
import {
  createFieldFinder,
  type FieldFinding,
  type JudgedField,
} from '../../service/decide/data-faults/find-fields.ts'
import { judgeEvents } from '../../service/decide/data-faults/judge-events.ts'
import {
  type EnvelopeMap,
  type EnvelopeMaps,
  FIELDS,
  type Field,
  findUnusedMaps,
  loadEnvelopeMaps,
  mapOf,
  sourceText,
} from '../../service/decide/event/envelope-map.ts'
import { createCaseJudge } from '../../service/decide/event/event-type-pattern.ts'
import type { Message } from '../../service/decide/event/message.ts'
import {
  type Event,
  fieldAt,
  isPartyLocator,
  parseEvent,
  readEnvelope,
} from '../../service/decide/event/parse-event.ts'
import { counted, listSome } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'
import { type Check, Problem, RUN_AGAIN, type Warning } from './remedies.ts'

/** Per topic. */
const PARTITION_COUNT_MAX = 5
/** Per partition. Transaction markers take offsets, too. */
const OFFSET_COUNT = 20n
const FETCH_BYTES = 1024 * 1024
/** Without these fields an event is rejected, or its member is not told. */
const NEEDED = ['eventId', 'eventType', 'partyLocator'] as const satisfies readonly Field[]
/** A topic is reported if fewer than one message in 10 has a needed field. */
const ONE_IN = 10
const NAMED_COUNT_MAX = 5
/** Counts of messages with a field's place are more precise. */
const TOLD_BY_PLACE: readonly DataFaultCode[] = ['no-party', 'no-reference']
const COMPARE =
  'compare rules/envelope.json with what producers publish, before these events are skipped for good or rejected: see src/service/consume/README.md; then `rejected redrive` what was rejected, and `retry --read-again` what was skipped'
const REFERENCE = 'check "locator" in rules/envelope.json'

export const envelopeMapCheck: Check = {
  name: 'envelope map',
  prefix: 'MQ_',
  // The check of the rules also reads the map, and reports its faults.
  after: ['rules', 'topics'],
  run: checkEnvelopeMap,
  remedies: { other: RUN_AGAIN },
}

interface SampledEvent extends Event {
  readonly value: Message['value']
  readonly timestampMs: Message['timestampMs']
}

/** The newest messages of a topic. */
export interface Sample {
  readonly topic: string
  readonly messages: readonly Message[]
  /** The messages as parsed by the service. */
  readonly map: EnvelopeMap
  /** The valid events. */
  readonly events: readonly SampledEvent[]
}

interface SampleFault {
  readonly detail: string
  readonly remedy: string
  readonly isFailure: boolean
}

export async function readMaps(): Promise<EnvelopeMaps> {
  return loadEnvelopeMaps(await readText(ENVELOPE_MAP))
}

export async function readSamples({ broker }: Config, maps: EnvelopeMaps): Promise<readonly Sample[]> {
  return withBrokers(broker, broker.groupId, async (brokers) => {
    const partitions = [...(await brokers.readEnds(broker.topics, READ_COMMITTED)).values()]
    const samples: Sample[] = []
    for (const topic of broker.topics) {
      const filled = partitions.filter((ends) => ends.topic === topic && ends.earliest < ends.end)
      const messages: Message[] = []
      for (const ends of filled.slice(0, PARTITION_COUNT_MAX))
        messages.push(...(await readNewest(brokers, ends)).filter(({ value }) => value !== null))
      samples.push(toSample(topic, messages, mapOf(maps, topic)))
    }
    return samples
  })
}

/** @internal */
export function toSample(topic: string, messages: readonly Message[], map: EnvelopeMap): Sample {
  const events = messages.flatMap((message) => {
    const parsed = parseEvent(message, map)
    const { value, timestampMs } = message
    return parsed.kind === 'event' ? [{ ...parsed.event, value, timestampMs }] : []
  })
  return { topic, messages, map, events }
}

/** Resolves to the places where the envelope map finds its fields in the newest messages, with faults that these reveal. */
async function checkEnvelopeMap(config: Config): Promise<string | Warning> {
  const maps = await readMaps()
  const samples = await readSamples(config, maps)
  const someHaveText = samples.some(({ events }) => events.some(hasText))
  const isInOtherCase = createCaseJudge(listAuthored((await readRuleFiles()).ruleTable))
  const judged = samples.map((sample) => ({
    sample,
    faults: judgeSample(sample, someHaveText, isInOtherCase),
  }))
  const unused = findUnusedMaps(maps, config.broker.topics)
  const faults = [
    ...unused.map((detail): SampleFault => ({ detail, remedy: COMPARE, isFailure: false })),
    ...judged.flatMap((topic) => topic.faults),
  ]
  const described = judged
    .filter((topic) => faults.length === 0 || topic.faults.length > 0)
    .flatMap((topic) => [describeSample(topic.sample), ...topic.faults.map(({ detail }) => `  ${detail}`)])
  const words = [...unused, ...described].join('\n')
  if (faults.length === 0) return words
  const remedy = [...new Set(faults.map((fault) => fault.remedy))].join('; ')
  if (faults.some(({ isFailure }) => isFailure)) throw new Problem(words, remedy)
  return { warning: words, remedy }
}

async function readNewest(
  brokers: Brokers,
  { topic, partition, earliest, end }: PartitionEnds,
): Promise<readonly Message[]> {
  const newest = end - OFFSET_COUNT
  const from = newest > earliest ? newest : earliest
  const range = { topic, partition, from, bytesMax: FETCH_BYTES }
  const { bytes, aborted } = await brokers.fetch(range, READ_COMMITTED)
  const set = findRecordSet(bytes, from, aborted)
  if (set === null) return []
  const messages: Message[] = []
  try {
    for await (const records of readRecordSet(set)) messages.push(...records)
  } catch (error) {
    // The check of partitions reports it.
    if (!(error instanceof UnreadableBatch)) throw error
  }
  return messages
}

/** @internal */
export function judgeSample(
  sample: Sample,
  someHaveText: boolean,
  isInOtherCase: (eventType: string) => boolean,
): SampleFault[] {
  const { topic, messages, map, events } = sample
  const counts = countFields(sample)
  const areEnough = messages.length >= FAULTY_COUNT_MIN
  const describe = (field: Field) =>
    `"${field}" (${sourceText(map[field])}) was found in ${counts[field]} of ${counted(messages.length, 'message')}`
  const missing = NEEDED.filter((field) => counts[field] * ONE_IN < messages.length)
  const faults: SampleFault[] = missing.map((field) => {
    return { detail: describe(field), remedy: COMPARE, isFailure: areEnough && counts[field] === 0 }
  })
  if (areEnough && counts.locator === 0) {
    const detail = `${describe('locator')}: messages will name the member's locator in place of the claim, policy or invoice`
    faults.push({ detail, remedy: REFERENCE, isFailure: false })
  }
  faults.push(...findRepeated(sample))
  const found = createFieldFinder(givesReason)(events)
  const eventCounts = {
    eventCount: events.length,
    withoutParty: events.filter(({ partyLocator }) => partyLocator === null).length,
    withoutText: events.filter((event) => !hasText(event) && !isInOtherCase(event.eventType)).length,
    inOtherCase: events.filter(({ eventType }) => isInOtherCase(eventType)).length,
    countOf: (place: JudgedField, finding: FieldFinding) =>
      found.filter((field) => field.place === place && field.finding === finding).length,
  }
  // A topic may lack texts on purpose. If no topic has one, the map is at fault.
  const isFailure = (code: DataFaultCode) =>
    code === 'other-case' || code === 'one-party' || (code === 'no-text' && !someHaveText)
  for (const { code, detail, isSure } of judgeEvents(topic, eventCounts))
    if (!TOLD_BY_PLACE.includes(code))
      faults.push({ detail, remedy: DATA_FAULTS[code], isFailure: isSure && isFailure(code) })
  return faults
}

function describeSample(sample: Sample): string {
  const { topic, messages, map, events } = sample
  const counts = countFields(sample)
  const places = FIELDS.map((field) => `${sourceText(map[field])} in ${counts[field]}`).join(', ')
  const types = [...Map.groupBy(events, ({ eventType }) => eventType)].map(
    ([eventType, [event]]) => `${eventType}${event && hasText(event) ? '' : ' (no text)'}`,
  )
  const rejection = messages
    .map((message) => (message.value === null ? null : readEnvelope(message.value, map.value)))
    .find((read) => read !== null && 'code' in read)
  return [
    `${topic}, newest ${counted(messages.length, 'message')}: ${places}`,
    ...(types.length === 0
      ? []
      : [`${counted(types.length, 'event type')}: ${printable(listSome(types, NAMED_COUNT_MAX))}`]),
    ...(rejection && 'code' in rejection ? [rejection.error] : []),
  ].join('; ')
}

function countFields({ messages, map }: Sample): Record<Field, number> {
  const counts = Object.fromEntries(FIELDS.map((field) => [field, 0])) as Record<Field, number>
  for (const message of messages) {
    if (message.value === null) continue
    const envelope = readEnvelope(message.value, map.value)
    if ('code' in envelope) continue
    for (const field of FIELDS) {
      const value = fieldAt(message, envelope, map[field])
      if (field === 'partyLocator' ? isPartyLocator(value) : (value ?? null) !== null) counts[field]++
    }
  }
  return counts
}

/** Messages with the same id and bytes are no fault: a producer may publish an event twice, seldom with other bytes. */
function findRepeated({ messages, map, events }: Sample): SampleFault[] {
  const groups = [...Map.groupBy(events, ({ eventId }) => eventId)].filter(
    ([, group]) => countDistinct(group, ({ value }) => Buffer.from(value ?? []).toString('base64')) > 1,
  )
  if (groups.length === 0) return []
  const different = groups.filter(
    ([, group]) =>
      countDistinct(group, ({ eventType, partyLocator, reference, reason }) =>
        JSON.stringify([eventType, partyLocator, reference, reason]),
      ) > 1,
  )
  const place = sourceText(map.eventId)
  const list = (shown: typeof groups) =>
    printable(
      listSome(
        shown.map(([id]) => id),
        NAMED_COUNT_MAX,
      ),
    )
  if (different.length > 0) {
    const detail = `${counted(different.length, 'event id')} (${place}) stood for different events: ${list(different)}`
    return [{ detail, remedy: DATA_FAULTS['repeated-id'], isFailure: true }]
  }
  const count = groups.flatMap(([, group]) => group).length
  const detail = `${count} of ${counted(messages.length, 'message')} share an event id (${place}) with a message of other bytes: ${list(groups)}`
  const isFailure = messages.length >= FAULTY_COUNT_MIN && count * 2 > messages.length
  return [{ detail, remedy: DATA_FAULTS['repeated-id'], isFailure }]
}

function countDistinct<Item>(items: readonly Item[], keyOf: (item: Item) => string | undefined): number {
  return new Set(items.map(keyOf)).size
}

function hasText({ eventType }: Event): boolean {
  return TEMPLATE_EVENT_TYPES.includes(eventType)
}
