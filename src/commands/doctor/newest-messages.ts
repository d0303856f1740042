import { withBrokers } from '../../app/clients.ts'
import { ENVELOPE_MAP, readText } from '../../app/rule-files.ts'
import type { Config } from '../../config/config.ts'
import {
  type EnvelopeMap,
  FIELDS,
  type Field,
  findUnusedMaps,
  loadEnvelopeMaps,
  mapOf,
  sourceText,
} from '../../core/event/envelope-map.ts'
import type { Message } from '../../core/event/message.ts'
import { fieldAt, isPartyLocator, readEnvelope } from '../../core/event/parse-event.ts'
import { counted } from '../../core/text/count.ts'
import { type Brokers, type PartitionEnds, READ_COMMITTED } from '../../kafka/brokers.ts'
import { findRecordSet, readRecordSet } from '../../kafka/records/record-set.ts'
import { UnreadableBatch } from '../../kafka/records/unreadable.ts'
import type { Warning } from './remedies.ts'

/** Per topic. */
const PARTITION_COUNT_MAX = 5
/** Per partition. The ends of transactions take offsets, too. */
const OFFSET_COUNT = 20n
const FETCH_BYTES = 1024 * 1024
/** Without one of these fields an event is rejected, or its member is not told. */
const NEEDED: readonly Field[] = ['eventId', 'eventType', 'partyLocator']
/** A topic is reported if fewer than one message in 10 has a needed field. */
const ONE_IN = 10
const COMPARE =
  'compare rules/envelope.json with what producers publish, before these events are skipped for good or rejected: see src/kafka/README.md'

/** Resolves to the places where the envelope map finds its fields in the newest messages of each topic. */
export async function checkEnvelopeMap({ broker }: Config): Promise<string | Warning> {
  const maps = loadEnvelopeMaps(await readText(ENVELOPE_MAP))
  return withBrokers(broker, broker.groupId, async (brokers) => {
    const partitions = [...(await brokers.readEnds(broker.topics, READ_COMMITTED)).values()]
    const topics: Found[] = []
    for (const topic of broker.topics) {
      const filled = partitions.filter((ends) => ends.topic === topic && ends.earliest < ends.end)
      const messages: Message[] = []
      for (const ends of filled.slice(0, PARTITION_COUNT_MAX))
        messages.push(...(await readNewest(brokers, ends)))
      topics.push(findIn(topic, messages, mapOf(maps, topic)))
    }
    const lacking = topics.filter(({ isLacking }) => isLacking)
    const words = (some: readonly Found[]) => some.map(({ words }) => words)
    const warnings = [...findUnusedMaps(maps, broker.topics), ...words(lacking)]
    return warnings.length > 0 ? { warning: warnings.join('\n'), remedy: COMPARE } : words(topics).join('\n')
  })
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
    for await (const some of readRecordSet(set)) messages.push(...some)
  } catch (error) {
    // The check of partitions reports it.
    if (!(error instanceof UnreadableBatch)) throw error
  }
  return messages
}

interface Found {
  readonly words: string
  readonly isLacking: boolean
}

function findIn(topic: string, messages: readonly Message[], map: EnvelopeMap): Found {
  const counts = new Map<Field, number>(FIELDS.map((field) => [field, 0]))
  let [messageCount, fault] = [0, '']
  for (const message of messages) {
    if (message.value === null) continue
    messageCount++
    const envelope = readEnvelope(message.value, map.value)
    if ('code' in envelope) fault ||= `; ${envelope.error}`
    else
      for (const [field, count] of counts) {
        const value = fieldAt(message, envelope, map[field])
        const isFound = field === 'partyLocator' ? isPartyLocator(value) : (value ?? null) !== null
        if (isFound) counts.set(field, count + 1)
      }
  }
  const places = [...counts].map(([field, count]) => `${sourceText(map[field])} in ${count}`)
  return {
    words: `${topic}, newest ${counted(messageCount, 'message')}: ${places.join(', ')}${fault}`,
    isLacking: NEEDED.some((field) => (counts.get(field) ?? 0) * ONE_IN < messageCount),
  }
}
