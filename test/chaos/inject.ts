import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import type { Statement } from '../stack/database-proxy.ts'
import type { Mode } from '../stack/policy-administration.ts'
import {
  abortedTransactions,
  compressedBomb,
  damagedBatch,
  eventBy,
  headerBomb,
  transactionsIntoBacklog,
} from './hostile-messages.ts'
import { hangingBy } from './parties.ts'
import { blockedFor, placeBy } from './places.ts'
import { publish } from './publisher.ts'
import type { Replica } from './replica.ts'
import type { Fault, FaultKind } from './schedule.ts'
import type { Stack } from './stack.ts'

/** How long a statement is waited for: with the load going on, it comes as soon as the replica has partitions. */
const STATEMENT_WAIT_MS = 10_000
/** While a process sleeps: so long after it was put to sleep its COMMIT goes on all the same. */
const LATE_COMMIT_MS = 1_000
const FLOOD_RATE = 400
const FLOOD_CONNECTION_COUNT = 40

/** Does it, and undoes it when its time is over. False: there was nothing to strike. */
type Inject = (stack: Stack, replica: Replica, durationMs: number, dice: number) => Promise<boolean>

const INJECT: Readonly<Record<FaultKind, Inject>> = {
  kill: async (_, replica, durationMs) => {
    await replica.kill()
    await sleep(durationMs)
    await replica.start()
    return true
  },
  stop: async (_, replica, durationMs) => {
    await replica.stop()
    await sleep(durationMs)
    await replica.start()
    return true
  },
  zombie: async (_, replica, durationMs) => {
    replica.sleep()
    await sleep(durationMs)
    replica.wake()
    return true
  },
  'zombie before START TRANSACTION': asleepBefore('START TRANSACTION'),
  'zombie before COMMIT': asleepBefore('COMMIT'),
  'zombie at COMMIT': async (_, replica, durationMs) => {
    const held = await inTime((signal) => replica.proxy.hold('COMMIT', signal))
    if (held === null) return false
    replica.sleep()
    await sleep(LATE_COMMIT_MS)
    held.forward()
    await sleep(durationMs - LATE_COMMIT_MS)
    replica.wake()
    return true
  },
  'reply to COMMIT lost': async (_, replica) =>
    (await inTime((signal) => replica.proxy.loseReply(signal).then(() => true))) !== null,
  'connections cut': async (_, replica) => replica.proxy.cut() > 0,
  'connections frozen': async (_, replica, durationMs) => {
    replica.proxy.freeze()
    await sleep(durationMs)
    replica.proxy.thaw()
    return true
  },
  'HTTP flood': async (_, { url }, durationMs) => {
    const { '2xx': answered } = await autocannon({
      url: `${url}/log/list`,
      connections: FLOOD_CONNECTION_COUNT,
      overallRate: FLOOD_RATE,
      duration: Math.ceil(durationMs / 1_000),
    })
    return answered > 0
  },
  'connections terminated': (stack) =>
    stack
      .withDatabase(async (client) => {
        const { rowCount } = await client.query(`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'notifications-service'`)
        return rowCount !== 0
      })
      // The database is down itself.
      .catch(() => false),
  'database crash': ({ servers }, _, durationMs) => servers.crash(durationMs),
  'synchronous fail-over': ({ servers }, _, durationMs) => servers.failOver('synchronous', durationMs),
  'asynchronous fail-over': ({ servers }, _, durationMs) => servers.failOver('asynchronous', durationMs),
  'partition locked': partitionLocked,
  'broker kill': async ({ kafka }, _, durationMs) => {
    await kafka.kill()
    await sleep(durationMs)
    await kafka.start()
    return true
  },
  'header bomb': (stack, _, __, dice) => headerBomb(stack, dice),
  'compressed bomb': (stack, _, durationMs, dice) => compressedBomb(stack, dice, durationMs),
  'damaged batch': (stack, _, durationMs, dice) => damagedBatch(stack, dice, durationMs),
  'transactions aborted': (stack, _, durationMs, dice) => abortedTransactions(stack, dice, durationMs),
  'transactions into a backlog': (stack, _, durationMs, dice) =>
    transactionsIntoBacklog(stack, dice, durationMs),
  'party look-ups fail': outage('down'),
  'party look-ups hang': outage('hang'),
  'party look-ups garbled': outage('garbled'),
  'some parties hang': async ({ policyAdministration }, _, durationMs, dice) => {
    const parties = hangingBy(dice)
    const before = policyAdministration.asked.length
    for (const party of parties) policyAdministration.set(party, 'hanging')
    await sleep(durationMs)
    for (const party of parties) policyAdministration.set(party, null)
    return policyAdministration.asked.slice(before).some((party) => parties.includes(party))
  },
}

/** Resolves when the fault is over; to null where it could not strike. */
export async function inject(stack: Stack, { kind, startMs, durationMs, replica, dice }: Fault) {
  await sleep(startMs)
  const fromMs = Date.now()
  const struck = await INJECT[kind](stack, stack.replicas[replica ?? 0] as Replica, durationMs, dice)
  return struck ? { kind, dice, fromMs, toMs: Date.now() } : null
}

/** By a session that has forgotten its transaction, until it ends. */
async function partitionLocked(
  { withDatabase, kafka, topics, held }: Stack,
  _: Replica,
  durationMs: number,
  dice: number,
) {
  const { topic, partition } = placeBy(dice, topics)
  const sinceMs = Date.now()
  return withDatabase(async (client) => {
    await client.query('BEGIN')
    try {
      const { rowCount } = await client.query(
        'SELECT FROM notifications.projection_checkpoints WHERE (topic, partition_id) = ($1, $2) FOR UPDATE',
        [topic, partition],
      )
      await publish(kafka.brokers, [{ topic, partition, value: eventBy(`locked-${dice}`, dice) }])
      await sleep(durationMs)
      return rowCount === 1 && (await blockedFor(held, { topic, partition }, 'locked', sinceMs))
    } finally {
      await client.query('ROLLBACK')
    }
  })
}

/** Its heir goes on with the same partitions; what the sleeper had in hand goes on when it wakes. */
function asleepBefore(statement: Statement): Inject {
  return async (_, replica, durationMs) => {
    const held = await inTime((signal) => replica.proxy.hold(statement, signal))
    if (held === null) return false
    replica.sleep()
    await sleep(durationMs)
    replica.wake()
    held.forward()
    return true
  }
}

function outage(mode: Mode): Inject {
  return async ({ policyAdministration }, _, durationMs) => {
    policyAdministration.mode(mode)
    await sleep(durationMs)
    policyAdministration.mode('ok')
    return true
  }
}

/** Null where what is waited for does not come in time. */
async function inTime<T>(wait: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
  const signal = AbortSignal.timeout(STATEMENT_WAIT_MS)
  return wait(signal).catch((error) => {
    if (signal.aborted) return null
    throw error
  })
}
