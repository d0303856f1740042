import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import { isPassing } from './errors.ts'
import type { FetchControls } from './inbox.ts'

/** Of one broker and one fetch, of partitions taken at random, so that each has its turn. */
const FETCH_BYTES = 4 * 1024 * 1024
/** Of one partition: about as many events as make a whole batch. */
const PARTITION_FETCH_BYTES = 512 * 1024
/** New partitions are found, and a new leader of one without, when kafkajs looks at the topics again. */
const METADATA_AGE_MAX_MS = 10_000

/** kafkajs has given up. `retriable`: a new member may do better. */
export interface Crash {
  readonly kind: 'crash'
  readonly error: unknown
  readonly retriable: boolean
}

/** A consumer of kafkajs that has not joined yet; `crashed` resolves when it cannot go on by itself. */
export function createMember(
  kafka: Kafka,
  { groupId, sessionTimeoutMs }: { readonly groupId: string; readonly sessionTimeoutMs: number },
): { consumer: Consumer; crashed: Promise<Crash> } {
  let retriable = false
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: Math.floor(sessionTimeoutMs / 10),
    rebalanceTimeout: 60_000,
    maxWaitTimeInMs: 500,
    maxBytes: FETCH_BYTES,
    maxBytesPerPartition: PARTITION_FETCH_BYTES,
    metadataMaxAge: METADATA_AGE_MAX_MS,
    allowAutoTopicCreation: false,
    readUncommitted: false,
    retry: {
      retries: 4,
      initialRetryTime: 200,
      maxRetryTime: 2_000,
      // kafkajs would restart by a timer of its own that a stop cannot reach: we start a new member instead.
      restartOnFailure: async () => {
        retriable = true
        return false
      },
    },
  })
  const crashed = new Promise<Crash>((resolve) => {
    consumer.on(consumer.events.CRASH, ({ payload }) =>
      resolve({ kind: 'crash', error: payload.error, retriable: retriable || isPassing(payload.error) }),
    )
  })
  return { consumer, crashed }
}

/** Resolves when the member consumes. */
export async function join(
  consumer: Consumer,
  topics: string[],
  eachBatch: (payload: EachBatchPayload) => Promise<void>,
): Promise<void> {
  await consumer.connect()
  // Without `fromBeginning`, an offset that is out of range would reset to the latest: silent loss.
  await consumer.subscribe({ topics, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
}

/** kafkajs throws while it is in no group: then what was wanted is done when it joins the next one. */
export function controlsOf(consumer: Consumer, topic: string, partition: number): FetchControls {
  const quietly = (act: () => void) => () => {
    try {
      act()
    } catch {}
  }
  const partitions = [{ topic, partitions: [partition] }]
  return {
    seek: (offset) => quietly(() => consumer.seek({ topic, partition, offset: String(offset) }))(),
    pause: quietly(() => consumer.pause(partitions)),
    resume: quietly(() => consumer.resume(partitions)),
  }
}
