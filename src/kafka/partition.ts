import type { EachBatchPayload, Batch as KafkajsBatch, KafkaMessage } from 'kafkajs'
import type { Logger } from 'pino'
import type { Batch, CommitResult } from '../core/batch/batch.ts'
import type { Checkpoint, Fingerprint } from '../core/batch/checkpoint.ts'
import type { Message } from '../core/event/message.ts'
import { backOffMs } from '../core/time/back-off.ts'
import { fingerprintOf } from './fingerprint.ts'

/** What the consumption of a partition needs from elsewhere. */
export interface PartitionNeeds {
  /** The checkpoint in force, from the database. */
  readonly loadCheckpoint: (topic: string, partition: number) => Promise<Checkpoint>
  /** Sets the checkpoint back after the topic was recreated; returns the one then in force. */
  readonly resetCheckpoint: (
    topic: string,
    partition: number,
    held: bigint,
    offset: bigint,
  ) => Promise<bigint>
  readonly dispatch: (batch: Batch, heartbeat: () => Promise<void>) => Promise<CommitResult>
  /** Does the work when its turn comes: only so many batches are under way at a time. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** The first offset that the broker still has, and the one after its last. */
  readonly offsetsOf: (topic: string, partition: number) => Promise<{ earliest: bigint; end: bigint }>
  readonly seek: (topic: string, partition: number, offset: bigint) => void
  /** Tells Kafka where the group goes on, some time soon. */
  readonly reportToKafka: (topic: string, partition: number, next: bigint) => void
  readonly sleep: (durationMs: number) => Promise<void>
  /** Receives work that continues after `eachBatch` has resolved, and never rejects: a stop waits for it. */
  readonly track: (work: Promise<void>) => void
  readonly stopping: AbortSignal
  /** Messages that the next batch may have. */
  readonly batchCountMax: () => number
  readonly log: Logger
}

type TopicPartition = Pick<KafkajsBatch, 'topic' | 'partition'>

/** A fetch of nothing but records that never reach us: of aborted transactions, and the ends of transactions. */
export interface FilteredFetch extends TopicPartition {
  /** Null where all of them lie before the offset that was asked for. */
  readonly firstOffset: string | null
  readonly lastOffset: string
}

/** Where we believe to be in a partition since we were assigned it. */
interface Position {
  held: bigint
  /** Null where it is not known. */
  lastMessage: Fingerprint | null
  /** Whether it was compared with what the broker has in its place now, or cannot be. */
  compared: boolean
  /** The offset that we asked for last because delivery started beyond it. */
  soughtOffset: bigint | null
  /** Resolves when no move past a filtered fetch is under way. */
  passing: Promise<void>
  /** Resolves when the batch that the fetch before left under way is committed, or given up with the membership. */
  trailing: Promise<void>
}

/** What the work on a fetch needs from the membership that it was delivered to. */
interface Membership {
  readonly mayGoOn: () => boolean
  readonly heartbeat: () => Promise<void>
}

/** kafkajs asks us to leave the fetch: the group rebalances, or we are no member any more. */
class MembershipLost extends Error {}

const HEARTBEAT_SLICE_MS = 1_000
/** A compressed record batch of 1 MB can hold hundreds of times as much: one transaction must not. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024

/**
 * Consumes fetches of the partitions that one membership in the group owns. The database's checkpoint is the authority:
 * what Kafka delivers is compared with it before and, under its lock, while each batch is written.
 */
export function createPartitionConsumer(needs: PartitionNeeds) {
  const positions = new Map<string, Position>()
  /** Batches that fetches have left, of earlier memberships, too. */
  const underWay = new Set<Promise<void>>()
  /** By `keyOf`; null until the group was joined. */
  let assigned: ReadonlySet<string> | null = null
  let joinCount = 0

  /**
   * The group was joined: others may have moved the checkpoints, so what we knew of them is forgotten. Each partition
   * is then fetched from its last processed message on, whatever offset Kafka keeps for the group: what a restored
   * database has lost comes again even where no new message does, and a recreated topic is noticed. Waits
   * for the database as long as the membership lasts.
   */
  async function onJoin(assignment: Readonly<Record<string, readonly number[]>>): Promise<void> {
    const join = ++joinCount
    const mayGoOn = () => join === joinCount && !needs.stopping.aborted
    const partitions = Object.entries(assignment).flatMap(([topic, numbers]) =>
      numbers.map((partition) => ({ topic, partition })),
    )
    assigned = new Set(partitions.map(keyOf))
    positions.clear()
    // Each ends by itself now; it would move the checkpoint that is read next.
    await Promise.all(underWay)
    await Promise.all(partitions.map((partition) => startAtCheckpoint(partition, mayGoOn)))
  }

  async function startAtCheckpoint(topicPartition: TopicPartition, mayGoOn: () => boolean): Promise<void> {
    for (let failureCount = 0; mayGoOn(); failureCount++) {
      try {
        // A fetch that came in first has compared its offsets already.
        if (positions.has(keyOf(topicPartition))) return
        const position = await positionOf(topicPartition)
        if (!mayGoOn()) return
        seek(topicPartition, position, position.lastMessage?.offset ?? position.held + 1n)
        return
      } catch (error) {
        const durationMs = backOffMs(failureCount)
        needs.log.warn(
          { err: error, ...topicPartition, retryInMs: durationMs },
          'waiting for the checkpoint of a partition',
        )
        await needs.sleep(durationMs)
      }
    }
  }

  async function positionOf(topicPartition: TopicPartition): Promise<Position> {
    const { topic, partition } = topicPartition
    const held = positions.get(keyOf(topicPartition))
    if (held !== undefined) return held
    const join = joinCount
    const { offset, lastMessage } = await needs.loadCheckpoint(topic, partition)
    const position = {
      held: offset,
      lastMessage,
      compared: lastMessage === null,
      soughtOffset: null,
      passing: Promise.resolve(),
      trailing: Promise.resolve(),
    }
    // The group was joined again meanwhile: whoever asked may not go on.
    if (join !== joinCount) return position
    // Two that load at the same time must not go on from two positions.
    const first = positions.get(keyOf(topicPartition)) ?? position
    positions.set(keyOf(topicPartition), first)
    // Kafka may not know the last commit: the membership ended before, or the broker did not answer.
    if (first === position && offset >= 0n) needs.reportToKafka(topic, partition, offset + 1n)
    return first
  }

  /**
   * Moves the checkpoint past a fetch that kafkajs does not deliver: no other may follow for long. Left to the next
   * message where it is not known that all before it is done. Never rejects.
   */
  async function onFiltered(fetched: FilteredFetch): Promise<void> {
    const position = positions.get(keyOf(fetched))
    if (position === undefined) return
    position.passing = position.passing.then(() => pass(fetched, position))
    await position.passing
  }

  async function pass(fetched: FilteredFetch, position: Position): Promise<void> {
    await position.trailing
    const { topic, partition, firstOffset } = fetched
    const nextOffset = BigInt(fetched.lastOffset)
    if (!position.compared || firstOffset === null) return
    if (BigInt(firstOffset) > position.held + 1n || nextOffset <= position.held) return
    const batch = { messages: [], nextOffset, lastMessage: position.lastMessage }
    try {
      await commitBatch(fetched, position, batch, async () => {})
    } catch (error) {
      needs.log.warn(
        { err: error, topic, partition, checkpoint: String(position.held) },
        'the checkpoint could not be moved past an aborted transaction; the next message will move it',
      )
    }
  }

  /**
   * kafkajs's `eachBatch`. Resolves with the last batch of the fetch still under way: kafkajs fetches and unpacks what
   * follows meanwhile, of every partition, which the slowest would hold up otherwise. Rejects only when the membership
   * is lost, with the error that says so.
   */
  async function eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch: fetched } = payload
    // kafkajs delivers what it had asked for before the group was joined again.
    if (assigned !== null && !assigned.has(keyOf(fetched))) return
    const join = joinCount
    const mayGoOn = () =>
      join === joinCount && payload.isRunning() && !payload.isStale() && !needs.stopping.aborted
    const heartbeat = () =>
      unlessStopping(payload.heartbeat()).catch((cause) => {
        throw new MembershipLost('lost membership in the consumer group', { cause })
      })
    try {
      await untilDone(positions.get(keyOf(fetched))?.trailing, heartbeat)
      const membership = { mayGoOn, heartbeat }
      await persist(fetched, membership, () => consume(payload, membership))
    } catch (lost) {
      throw lost instanceof MembershipLost ? lost.cause : lost
    }
  }

  /** kafkajs fetches nothing meanwhile: nobody else would tell the broker that we live, or hear that we do not. */
  async function untilDone(
    trailing: Promise<void> | undefined,
    heartbeat: () => Promise<void>,
  ): Promise<void> {
    let done = trailing === undefined
    const finished = trailing?.then(() => {
      done = true
    })
    while (!done) {
      // Once we stop, nothing sleeps any more.
      if (needs.stopping.aborted) return finished
      await Promise.race([finished, needs.sleep(HEARTBEAT_SLICE_MS)])
      if (!done) await heartbeat()
    }
  }

  /** Tries again, with backoff, until the work succeeds or may not go on. Rejects only with `MembershipLost`. */
  async function persist(
    fetched: KafkajsBatch,
    membership: Membership,
    work: () => Promise<void>,
  ): Promise<void> {
    const heldNow = () => positions.get(keyOf(fetched))?.held
    for (let failureCount = 0; membership.mayGoOn(); failureCount++) {
      const heldBefore = heldNow()
      try {
        return await work()
      } catch (error) {
        if (error instanceof MembershipLost) throw error
        const held = heldNow()
        // A fault that let some of the fetch through is another one.
        if (held !== heldBefore) failureCount = 0
        const durationMs = backOffMs(failureCount)
        needs.log.error(
          {
            err: error,
            topic: fetched.topic,
            partition: fetched.partition,
            offset: held === undefined ? fetched.firstOffset() : String(held + 1n),
            retryInMs: durationMs,
          },
          'a batch could not be committed; nothing is lost, retrying with back-off',
        )
        await backOff(durationMs, membership)
      }
    }
  }

  async function backOff(durationMs: number, { mayGoOn, heartbeat }: Membership): Promise<void> {
    for (let leftMs = durationMs; leftMs > 0 && mayGoOn(); leftMs -= HEARTBEAT_SLICE_MS) {
      await needs.sleep(Math.min(leftMs, HEARTBEAT_SLICE_MS))
      await heartbeat()
    }
  }

  async function consume(payload: EachBatchPayload, membership: Membership): Promise<void> {
    const { batch: fetched } = payload
    const { mayGoOn, heartbeat } = membership
    const position = await positionOf(fetched)
    await position.passing
    // On joining, the partition may have been sought elsewhere meanwhile.
    if (!mayGoOn() || !(await isNext(fetched, position))) return
    const messages = fetched.messages.filter((message) => BigInt(message.offset) > position.held)
    // Control records at the end never reach us, but they have offsets too.
    const lastOffset = BigInt(fetched.lastOffset())
    for (let start = 0; position.held < lastOffset && mayGoOn(); ) {
      const end = endOfBatch(messages, start, needs.batchCountMax())
      const batch = messages.slice(start, end)
      const endsFetch = end >= messages.length
      start = end
      const last = batch.at(-1)
      const lastMessage = last === undefined ? position.lastMessage : fingerprintOf(last)
      const nextOffset = endsFetch || last === undefined ? lastOffset : BigInt(last.offset)
      const commit = (beat: () => Promise<void>) =>
        needs.inTurn(async () => {
          if (!mayGoOn()) return false
          const messages = batch.map(toMessage)
          return await commitBatch(fetched, position, { messages, nextOffset, lastMessage }, beat)
        })
      if (endsFetch) {
        trail(payload, position, membership, commit)
        return
      }
      if (!(await commit(heartbeat))) return
      payload.resolveOffset(String(nextOffset))
      await heartbeat()
    }
  }

  /**
   * Leaves the last batch of a fetch under way. Should the membership end before it is committed, the next one starts at
   * the checkpoint: that kafkajs was told to go on is forgotten.
   */
  function trail(
    payload: EachBatchPayload,
    position: Position,
    { mayGoOn }: Membership,
    commit: (heartbeat: () => Promise<void>) => Promise<boolean>,
  ): void {
    payload.resolveOffset(payload.batch.lastOffset())
    // The broker answers it only after the fetch that is under way, and kafkajs hears itself of a lost membership.
    const heartbeat = async () => void payload.heartbeat().catch(() => {})
    const trailing = persist(payload.batch, { mayGoOn, heartbeat }, async () => {
      await commit(heartbeat)
    })
    underWay.add(trailing)
    position.trailing = trailing.then(() => void underWay.delete(trailing))
    needs.track(position.trailing)
  }

  /** False: another consumer moved the checkpoint, and what is to be fetched next has been arranged. */
  async function commitBatch(
    { topic, partition }: TopicPartition,
    position: Position,
    batch: Pick<Batch, 'messages' | 'nextOffset' | 'lastMessage'>,
    heartbeat: () => Promise<void>,
  ): Promise<boolean> {
    const heldOffset = position.held
    const result = await needs.dispatch({ topic, partition, heldOffset, ...batch }, heartbeat)
    if (result.kind === 'committed') {
      position.held = batch.nextOffset
      position.lastMessage = batch.lastMessage
      needs.reportToKafka(topic, partition, batch.nextOffset + 1n)
      return true
    }
    needs.log.warn(
      { topic, partition, held: String(heldOffset), checkpoint: String(result.checkpoint) },
      'another consumer moved the checkpoint: continuing from there',
    )
    position.held = result.checkpoint
    position.lastMessage = null
    needs.seek(topic, partition, result.checkpoint + 1n)
    return false
  }

  /**
   * Compares where the fetch started with where we are. False: the fetch is not the one to process now; what is to be
   * fetched next has been arranged.
   */
  async function isNext(fetched: KafkajsBatch, position: Position): Promise<boolean> {
    const { topic, partition } = fetched
    if (position.held >= BigInt(fetched.highWatermark)) await startAnewIfShorter(fetched, position)
    if (!(await compareLastMessage(fetched, position))) return false
    const expected = position.held + 1n
    const fetchedOffset = BigInt(
      (fetched as KafkajsBatch & { fetchedOffset: string | { toString(): string } }).fetchedOffset.toString(),
    )
    if (BigInt(fetched.lastOffset()) < expected) {
      needs.seek(topic, partition, expected)
      return false
    }
    if (fetchedOffset <= expected) return true
    if (position.soughtOffset !== expected) {
      seek(fetched, position, expected)
      return false
    }
    // Asked for, and still not delivered: these offsets do not exist (any more).
    const { earliest } = await needs.offsetsOf(topic, partition)
    if (earliest > expected) {
      needs.log.error(
        {
          topic,
          partition,
          expected: String(expected),
          earliest: String(earliest),
          gone: String(earliest - expected),
        },
        `${earliest - expected} messages are lost: the broker's retention deleted them before they were processed`,
      )
    }
    return true
  }

  /** The checkpoint lies beyond what was the partition's end when the fetch was made: look again before judging. */
  async function startAnewIfShorter(topicPartition: TopicPartition, position: Position): Promise<void> {
    const offsets = await needs.offsetsOf(topicPartition.topic, topicPartition.partition)
    if (position.held >= offsets.end)
      await startAnew(
        topicPartition,
        position,
        offsets,
        'the checkpoint lies beyond the end of the partition',
      )
  }

  /**
   * Once for each assignment. False: the last processed message is to be fetched first, which has been arranged. Where
   * it cannot be had any more (retention, compaction) nothing can be told.
   */
  async function compareLastMessage(fetched: KafkajsBatch, position: Position): Promise<boolean> {
    const { lastMessage } = position
    if (position.compared || lastMessage === null) return true
    const found = fetched.messages.find(({ offset }) => BigInt(offset) === lastMessage.offset)
    if (found === undefined && position.soughtOffset !== lastMessage.offset) {
      seek(fetched, position, lastMessage.offset)
      return false
    }
    if (found !== undefined && fingerprintOf(found).sha256 !== lastMessage.sha256) {
      const offsets = await needs.offsetsOf(fetched.topic, fetched.partition)
      const why = `the message at offset ${lastMessage.offset} is not the one that was processed`
      await startAnew(fetched, position, offsets, why)
    }
    position.compared = true
    return true
  }

  async function startAnew(
    { topic, partition }: TopicPartition,
    position: Position,
    { earliest, end }: { earliest: bigint; end: bigint },
    why: string,
  ): Promise<void> {
    needs.log.error(
      { topic, partition, checkpoint: String(position.held), earliest: String(earliest), end: String(end) },
      `${why}: the topic was recreated; starting from its earliest offset`,
    )
    position.held = await needs.resetCheckpoint(topic, partition, position.held, earliest - 1n)
    position.lastMessage = null
    position.compared = true
  }

  function seek({ topic, partition }: TopicPartition, position: Position, offset: bigint): void {
    position.soughtOffset = offset
    needs.seek(topic, partition, offset)
  }

  /** A broker that does not answer must not hold a stop: nothing that was asked of it matters then. */
  function unlessStopping(asked: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const onStop = () => resolve()
      if (needs.stopping.aborted) onStop()
      needs.stopping.addEventListener('abort', onStop, { once: true })
      const done = () => needs.stopping.removeEventListener('abort', onStop)
      asked.finally(done).then(resolve, reject)
    })
  }

  /** The partitions that are not processed up to this offset, as `topic/partition`, each with its checkpoint. */
  function behind(offset: bigint): Record<string, string> {
    const found = [...positions].filter(([, { held }]) => held < offset)
    return Object.fromEntries(found.map(([key, { held }]) => [key, String(held)]))
  }

  return { behind, eachBatch, onFiltered, onJoin }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}

/** Where a batch ends that starts at `start`: at its count or its bytes, but never before its first message. */
function endOfBatch(messages: readonly KafkaMessage[], start: number, countMax: number): number {
  let end = start
  for (let bytes = 0; end < messages.length && end - start < countMax; end++) {
    bytes += sizeOf(messages[end] as KafkaMessage)
    if (bytes > BATCH_BYTES_MAX && end > start) break
  }
  return end
}

/** In bytes: of a message that is rejected, key and headers are written, too. */
function sizeOf({ key, value, headers }: KafkaMessage): number {
  let size = (key?.length ?? 0) + (value?.length ?? 0)
  for (const name in headers) {
    for (const part of [headers[name]].flat()) size += name.length + (part?.length ?? 0)
  }
  return size
}

function toMessage({ offset, timestamp, key, value, headers = {} }: KafkaMessage): Message {
  return {
    offset: BigInt(offset),
    timestampMs: BigInt(timestamp ?? -1),
    key,
    value,
    headers: toHeaders(headers),
  }
}

/**
 * Each value is bytes or null. kafkajs puts what an object inherits under a header's name (`constructor`, `__proto__`)
 * before the header's own values: those are left out.
 */
function toHeaders(headers: NonNullable<KafkaMessage['headers']>): Message['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name, [values as unknown].flat().filter(isHeaderValue)]),
  )
}

function isHeaderValue(value: unknown): value is Buffer | null {
  return value === null || Buffer.isBuffer(value)
}
