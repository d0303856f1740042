import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Producer } from 'kafkajs'
import { createRandom } from '../bench/random.ts'
import { writeBatch } from '../kafka/records/write-batch.ts'
import { writeBomb } from '../kafka/records/write-bomb.ts'
import { command } from '../service/command.ts'
import { produceRaw } from '../stack/kafka/produce-raw.ts'
import { withTransactions } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent } from '../stack/world.ts'
import { type Bomb, placeBy, type Stack, type Strike } from './stack.ts'

const HEADER_COUNT = 50_000
const PRODUCER_COUNT = 3
const EVENT_COUNT_MAX = 4
const PARTY_COUNT = 100
const BACKLOG_EVENT_COUNT = 60
const BACKLOG_TRANSACTION_COUNT_MAX = 120
const FILLING = 'x'.repeat(2_000)
const LOCKED_MS = 2_500
const UNLOCKED_MS = 700
const SKIP_WAIT_MS = 60_000
const SKIP_PAUSE_MS = 500
/** Topics of a run stay far below the size at which a second one is begun. */
const FIRST_SEGMENT = '00000000000000000000.log'

/** An event with tens of thousands of header names. */
export async function headerBomb({ kafka, topics, dice }: Strike): Promise<boolean> {
  const { topic, partition } = placeBy(dice, topics)
  const headers = Array.from({ length: HEADER_COUNT }, (_, i) => [`h${i}`, Buffer.alloc(0)] as const)
  const records = [{ value: eventBy(`header-bomb-${dice}`, dice), headers }]
  await produceRaw(kafka.brokers, topic, partition, writeBatch({ baseOffset: 0, records }))
  return true
}

/** A batch too large to decompress: it blocks its partition until a command skips it. */
export async function compressedBomb(strike: Strike): Promise<boolean> {
  const { kafka, topics, bombs, isBlocked, durationMs, dice } = strike
  const place = placeBy(dice, topics)
  const sinceMs = Date.now()
  const offset = await produceRaw(kafka.brokers, place.topic, place.partition, writeBomb())
  const wasBlocked = await isBlocked(place, 'too-large', sinceMs)
  await sleep(durationMs)
  bombs.push({ ...place, offset })
  return (await skipBomb(strike, { ...place, offset })) && wasBlocked
}

/** Skips it as an operator does. Messages before it may not be processed yet, and the database or the broker may be down. */
export function skipBomb({ env }: Pick<Stack, 'env'>, { topic, partition, offset }: Bomb): Promise<boolean> {
  const place = ['--topic', topic, '--partition', String(partition), '--to', String(offset)]
  const args = ['rejected', 'skip', ...place, '--yes', '--by', 'chaos', '--because', 'a bomb']
  const isSkipped = async () => {
    const { code, stderr } = await command(args, env)
    // The second: it was skipped before, and the answer was lost.
    return code === 0 || (code === 2 && /is processed up to offset/.test(stderr))
  }
  return until(isSkipped, {
    what: `offset ${offset} to be skipped`,
    timeoutMs: SKIP_WAIT_MS,
    intervalMs: SKIP_PAUSE_MS,
  }).catch(() => false)
}

/** A batch of which the disk has lost a bit. It is restored in the end: nothing of it may be lost. */
export async function damagedBatch({ kafka, topics, isBlocked, durationMs, dice }: Strike): Promise<boolean> {
  const place = placeBy(dice, topics)
  const eventId = `damaged-${dice}`
  const sinceMs = Date.now()
  return withTransactions(kafka.brokers, [eventId], async ([producer]) => {
    const transaction = await (producer as Producer).transaction()
    await transaction.send({
      topic: place.topic,
      messages: [{ partition: place.partition, value: eventBy(eventId, dice) }],
    })
    // Consumers are given it once it is committed.
    const segment = join(kafka.dataDir, `${place.topic}-${place.partition}`, FIRST_SEGMENT)
    const position = await flipBit(segment, eventId)
    try {
      await transaction.commit()
      const wasBlocked = await isBlocked(place, 'damaged', sinceMs)
      await sleep(durationMs)
      return wasBlocked
    } finally {
      await flipBit(segment, eventId, position)
    }
  })
}

/** Changes the first byte of this text, the last time that the file has it, or the byte at a position, which is returned. */
async function flipBit(file: string, text: string, at?: number): Promise<number> {
  const handle = await open(file, 'r+')
  try {
    const bytes = await handle.readFile()
    const position = at ?? bytes.lastIndexOf(text)
    if (position === -1) throw new Error(`${file} does not have ${text}`)
    await handle.write(Buffer.of((bytes[position] as number) ^ 1), 0, 1, position)
    return position
  } finally {
    await handle.close()
  }
}

/** Producers that have transactions open at the same time, of which some are aborted: nothing may become of these. */
export async function abortedTransactions({ kafka, topics, durationMs, dice }: Strike): Promise<boolean> {
  const { below } = createRandom(dice)
  const untilMs = performance.now() + durationMs
  let abortedCount = 0
  let eventCount = 0
  const send = (transaction: Awaited<ReturnType<Producer['transaction']>>) => {
    const { topic, partition } = placeBy(below(1_000), topics)
    const value = eventBy(`transaction-${dice}-${eventCount++}`, below(PARTY_COUNT))
    // Such as the key of the marker by which the broker ends a transaction.
    return transaction.send({ topic, messages: [{ partition, key: Buffer.alloc(4), value }] })
  }
  const ids = Array.from({ length: PRODUCER_COUNT }, (_, i) => `transactions-${dice}-${i}`)
  await withTransactions(kafka.brokers, ids, async (producers) => {
    while (abortedCount === 0 || performance.now() < untilMs) {
      const open = await Promise.all(producers.map((producer) => producer.transaction()))
      for (let count = 1 + below(EVENT_COUNT_MAX); count > 0; count--) {
        for (const transaction of open) await send(transaction)
      }
      for (; open.length > 0; ) {
        const [transaction] = open.splice(below(open.length), 1)
        if (below(2) === 0) await transaction?.commit()
        else {
          await transaction?.abort()
          abortedCount++
        }
      }
    }
  })
  return true
}

/**
 * One producer commits and aborts in turn while the log is locked in pulses, so that a partition backs up and its fetches pause
 * and resume between transactions.
 */
export async function transactionsIntoBacklog(strike: Strike): Promise<boolean> {
  const { kafka, topics, durationMs, dice } = strike
  const { topic, partition } = placeBy(dice, topics)
  const over = AbortSignal.timeout(durationMs)
  const locking = lockInPulses(strike, over)
  await withTransactions(kafka.brokers, [`backlog-${dice}`], async ([producer]) => {
    for (let number = 0; number < BACKLOG_TRANSACTION_COUNT_MAX && !over.aborted; number++) {
      const transaction = await (producer as Producer).transaction()
      const messages = Array.from({ length: BACKLOG_EVENT_COUNT }, (_, i) => {
        const eventId = `transaction-backlog-${dice}-${number}-${i}`
        const partyLocator = `party-plain-${i % PARTY_COUNT}`
        return { partition, value: anEvent({ eventId, partyLocator, filling: FILLING }).value }
      })
      await transaction.send({ topic, messages })
      await (number % 2 === 0 ? transaction.abort() : transaction.commit())
    }
  })
  return locking
}

/** Each pulse is shorter than the service's lock timeout. False if it could not lock. */
async function lockInPulses(
  { withDatabase }: Pick<Stack, 'withDatabase'>,
  over: AbortSignal,
): Promise<boolean> {
  const pause = (durationMs: number) => sleep(durationMs, undefined, { signal: over }).catch(() => {})
  let hasLocked = false
  while (!over.aborted) {
    await withDatabase(async (client) => {
      // The database may end it while it waits between statements.
      client.on('error', () => {})
      await client.query('BEGIN; LOCK TABLE notifications.notification_log IN EXCLUSIVE MODE')
      hasLocked = true
      await pause(LOCKED_MS)
      await client.query('COMMIT')
    }).catch(() => {})
    await pause(UNLOCKED_MS)
  }
  return hasLocked
}

/** An event about a party that is always found. */
export function eventBy(eventId: string, dice: number): string {
  return anEvent({ eventId, partyLocator: `party-plain-${dice % PARTY_COUNT}` }).value
}
