import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import type { Producer } from 'kafkajs'
import type { Statement } from '../stack/database-proxy.ts'
import type { Direction } from '../stack/network.ts'
import type { Mode } from '../stack/policy-administration.ts'
import { createRandom } from '../stack/random.ts'
import { withTransactions } from '../stack/topics.ts'
import { anEvent } from '../stack/world.ts'
import type { InjectedFault } from './check.ts'
import { publish } from './input.ts'
import { hangingBy } from './parties.ts'
import type { Replica } from './replica.ts'
import type { Fault, FaultKind } from './schedule.ts'
import { placeBy, type Stack, type Strike } from './stack.ts'

/** Maximum time to wait for a statement: under load, it comes as soon as the replica has partitions. */
const STATEMENT_WAIT_MS = 10_000
/** Time after which the COMMIT of a sleeping process continues. */
const LATE_COMMIT_MS = 1_000
/** Clients of a database that stands still. */
const CLIENT_PAUSE_MS = 3_000
const CLIENT_PATIENCE_MS = 2_000
const FLOOD_RATE = 400
const FLOOD_CONNECTION_COUNT = 40
const PRODUCER_COUNT = 3
const DIRECTIONS = ['requests', 'answers'] as const
/** Below and beyond the time after which a broker counts as late. */
const SLOW_MS_MIN = 50
const SLOW_MS_SPAN = 2_500
const EVENT_COUNT_MAX = 4
const PARTY_COUNT = 100

/** Injects a fault, and undoes it when its time is over. False: there was nothing to strike. */
type Inject = (strike: Strike) => Promise<boolean>

const INJECT: Readonly<Record<FaultKind, Inject>> = {
  kill: ({ replica, durationMs }) => during(durationMs, replica.kill, replica.start),
  stop: ({ replica, durationMs }) => during(durationMs, replica.stop, replica.start),
  'another rule table': ({ replica, durationMs }) => {
    replica.changeTable()
    return during(durationMs, replica.stop, replica.start)
  },
  zombie: ({ replica, durationMs }) => during(durationMs, replica.sleep, replica.wake),
  'zombie before START TRANSACTION': asleepBefore('START TRANSACTION'),
  'zombie before COMMIT': asleepBefore('COMMIT'),
  'zombie at COMMIT': async ({ replica, durationMs }) => {
    const held = await inTime((signal) => replica.proxy.hold('COMMIT', signal))
    if (held === null) return false
    replica.sleep()
    await sleep(LATE_COMMIT_MS)
    held.forward()
    await sleep(durationMs - LATE_COMMIT_MS)
    replica.wake()
    return true
  },
  'reply to COMMIT lost': async ({ replica }) =>
    (await inTime((signal) => replica.proxy.loseReply(signal).then(() => true))) !== null,
  'connections cut': async ({ replica }) => replica.proxy.cut() > 0,
  'connections frozen': ({ replica: { proxy }, durationMs }) =>
    during(
      durationMs,
      () => proxy.freeze(),
      () => proxy.thaw(),
    ),
  'HTTP flood': async ({ replica, durationMs }) => {
    const { '2xx': answered } = await autocannon({
      url: `${replica.url()}/log/list`,
      connections: FLOOD_CONNECTION_COUNT,
      overallRate: FLOOD_RATE,
      duration: Math.ceil(durationMs / 1_000),
    })
    return answered > 0
  },
  'connections terminated': ({ withDatabase }) =>
    withDatabase(async (client) => {
      const { rowCount } = await client.query(`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'notifications-service'`)
      return rowCount !== 0
    })
      // The database is down itself.
      .catch(() => false),
  'database crash': ({ servers, durationMs }) => servers.crash(durationMs),
  'database frozen': async ({ servers, replicas, durationMs }) => {
    const impatient = Array.from({ length: Math.ceil(durationMs / CLIENT_PAUSE_MS) }, async (_, i) => {
      await sleep(i * CLIENT_PAUSE_MS)
      for (const replica of replicas)
        for (const path of ['/readyz', '/log/list', '/preferences/party-sms-1', '/preferences/party-sms-2'])
          void fetch(`${replica.url()}${path}`, { signal: AbortSignal.timeout(CLIENT_PATIENCE_MS) }).catch(
            () => {},
          )
    })
    const isStruck = await servers.freeze(durationMs)
    await Promise.all(impatient)
    return isStruck
  },
  'synchronous fail-over': ({ servers, durationMs }) => servers.failOver('synchronous', durationMs),
  'asynchronous fail-over': ({ servers, durationMs }) => servers.failOver('asynchronous', durationMs),
  'partition locked': partitionLocked,
  'network cut': networkCut(['requests', 'answers']),
  'network cut one way': (strike) => networkCut([pickBy(strike.dice >> 8, DIRECTIONS)])(strike),
  'network slow': async ({ replica, durationMs, dice }) => {
    const network = pickBy(dice, replica.networks)
    await during(
      durationMs,
      () => network.slow(SLOW_MS_MIN + (dice % SLOW_MS_SPAN)),
      () => {},
    )
    return network.mend() > 0
  },
  'broker kill': ({ cluster, durationMs, dice }) => {
    const broker = pickBy(dice, cluster)
    return during(
      durationMs,
      () => broker.kill(),
      () => broker.start(),
    )
  },
  'broker frozen': ({ cluster, durationMs, dice }) => {
    const pid = Number(pickBy(dice, cluster).pid())
    return during(
      durationMs,
      () => process.kill(pid, 'SIGSTOP'),
      () => process.kill(pid, 'SIGCONT'),
    )
  },
  'transactions aborted': abortedTransactions,
  'party look-ups fail': outage('down'),
  'party look-ups hang': outage('hang'),
  'party look-ups garbled': outage('garbled'),
  'some parties hang': async ({ policyAdministration: { asked, set }, durationMs, dice }) => {
    const parties = hangingBy(dice)
    const before = asked.length
    for (const party of parties) set(party, 'hanging')
    await sleep(durationMs)
    for (const party of parties) set(party, null)
    return asked.slice(before).some((party) => parties.includes(party))
  },
}

/** Resolves when the fault is over; to null if it could not strike. */
export async function inject(
  stack: Stack,
  { kind, startMs, durationMs, replica, dice }: Fault,
): Promise<InjectedFault | null> {
  await sleep(startMs)
  const fromMs = Date.now()
  const struck = await INJECT[kind]({
    ...stack,
    replica: stack.replicas[replica ?? 0] as Replica,
    durationMs,
    dice,
  })
  return struck ? { kind, dice, fromMs, toMs: Date.now() } : null
}

async function during(durationMs: number, begin: () => unknown, end: () => unknown): Promise<true> {
  await begin()
  await sleep(durationMs)
  await end()
  return true
}

/** What was held up arrives afterwards, or the connections turn out to be broken. */
function networkCut(directions: readonly Direction[]): Inject {
  return async ({ replica, durationMs, dice }) => {
    const network = pickBy(dice, replica.networks)
    for (const direction of directions) network.cut(direction)
    await sleep(durationMs)
    if ((dice >> 4) % 2 === 0) network.breakAll()
    return network.mend() > 0
  }
}

function pickBy<Item>(dice: number, items: readonly Item[]): Item {
  const item = items[dice % items.length]
  if (item === undefined) throw new Error('there is nothing to pick from')
  return item
}

/** Locks a checkpoint by a session that has forgotten its transaction, until it ends. */
function partitionLocked({ withDatabase, brokers, topics, isBlocked, durationMs, dice }: Strike) {
  const place = placeBy(dice, topics)
  const sinceMs = Date.now()
  return withDatabase(async (client) => {
    await client.query('BEGIN')
    try {
      const { rowCount } = await client.query(
        'SELECT FROM notifications.projection_checkpoints WHERE (topic, partition_id) = ($1, $2) FOR UPDATE',
        [place.topic, place.partition],
      )
      await publish(brokers, [{ ...place, value: eventBy(`locked-${dice}`, dice) }])
      await sleep(durationMs)
      return rowCount === 1 && (await isBlocked(place, 'locked', sinceMs))
    } finally {
      await client.query('ROLLBACK')
    }
  })
}

/** Producers that have transactions open at the same time, of which some are aborted: nothing may become of these. */
async function abortedTransactions({ brokers, topics, durationMs, dice }: Strike): Promise<boolean> {
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
  await withTransactions(brokers, ids, async (producers) => {
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

/** An event about a party that is always found. */
function eventBy(eventId: string, dice: number): string {
  return anEvent({ eventId, partyLocator: `party-plain-${dice % PARTY_COUNT}` }).value
}

/** The successor continues with the same partitions; the sleeper's work continues when it wakes. */
function asleepBefore(statement: Statement): Inject {
  return async ({ replica, durationMs }) => {
    const held = await inTime((signal) => replica.proxy.hold(statement, signal))
    if (held === null) return false
    await during(durationMs, replica.sleep, replica.wake)
    held.forward()
    return true
  }
}

function outage(mode: Mode): Inject {
  return ({ policyAdministration, durationMs }) =>
    during(
      durationMs,
      () => policyAdministration.mode(mode),
      () => policyAdministration.mode('ok'),
    )
}

/** Null if it does not come in time. */
async function inTime<T>(wait: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
  const signal = AbortSignal.timeout(STATEMENT_WAIT_MS)
  return wait(signal).catch((error) => {
    if (signal.aborted) return null
    throw error
  })
}
